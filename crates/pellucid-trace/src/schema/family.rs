//! Families of operations: what kind of work one is. Files of version 1 do not say it; here alone it is told from the
//! name of the operation's variant.

use super::{OpView, is_input};

/// The family of arrays that existed before the window.
pub const INPUT: &str = "input";

impl<'a> OpView<'a> {
    /// What kind of work the operation is: `input`, `creation`, `random`, `elementwise`, `layout`, `assembly`, `indexing`,
    /// `reduction`, `scan`, `normalisation`, `sort`, `matmul`, `custom`, or a word that a later version has added.
    pub fn kind(&self) -> &'a str {
        self.family.unwrap_or_else(|| of_version_1(self.op))
    }
}

/// The family of an operation by its JSON, for the operations that version 1 knew; `other` for anything else.
fn of_version_1(op: &str) -> &'static str {
    if is_input(op) {
        return INPUT;
    }
    match op.trim_start_matches(['{', '"']).split('"').next().unwrap_or_default() {
        "full" | "arange" => "creation",
        "random_bits" => "random",
        "unary" | "binary" | "select" | "cast" => "elementwise",
        "reshape" | "transpose" | "broadcast" | "slice" | "as_strided" | "view" | "contiguous"
        | "depends" => "layout",
        "concatenate" | "pad" | "slice_update" => "assembly",
        "take" | "take_along_axis" | "put_along_axis" => "indexing",
        "reduce" | "arg_reduce" => "reduction",
        "scan" => "scan",
        "softmax" => "normalisation",
        "sort" | "argsort" => "sort",
        "matmul" | "addmm" => "matmul",
        "custom" => "custom",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::of_version_1;

    #[test]
    fn operations_of_version_1_are_known_by_their_json() {
        let known = [
            ("{\"input\":{}}", "input"),
            ("{\"binary\":\"add\"}", "elementwise"),
            ("\"select\"", "elementwise"),
            ("\"matmul\"", "matmul"),
            ("{\"reduce\":{\"op\":\"sum\",\"axes\":[0],\"keepdims\":false}}", "reduction"),
            ("\"contiguous\"", "layout"),
            ("{\"never_heard_of\":{}}", "other"),
            ("", "other"),
        ];
        for (json, family) in known {
            assert_eq!(of_version_1(json), family, "{json}");
        }
    }
}
