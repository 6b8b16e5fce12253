use super::tree::Scalar;
use super::{Fault, Given, Outcome, Seen, Setting, translate};

fn setting<'a>(arrays: &[(&'a str, Scalar, &'a [usize], bool)], text: &str) -> Setting<'a> {
    let arrays = arrays
        .iter()
        .map(|&(name, element, shape, is_output)| Seen { name, element, shape, is_output })
        .collect();
    let templates = vec![
        ("T".to_owned(), Given::Type(Scalar::Real)),
        ("N".to_owned(), Given::Whole(4)),
        ("flag".to_owned(), Given::Truth(true)),
    ];
    Setting { arrays, templates, grid: [10, 1, 1], threadgroup: [4, 1, 1], text: text.to_owned() }
}

fn body(source: &str) -> Outcome<String> {
    with_header(source, "").map(|(_, body)| body)
}

/// Header and body without the line that keeps invocations inside the grid.
fn with_header(source: &str, header: &str) -> Outcome<(String, String)> {
    let arrays: [(&str, Scalar, &[usize], bool); 5] = [
        ("x", Scalar::Real, &[2, 3], false),
        ("n", Scalar::I32, &[], false),
        ("small", Scalar::U8, &[4], false),
        ("y", Scalar::Real, &[6], true),
        ("truths", Scalar::Bool, &[6], true),
    ];
    let setting = setting(&arrays, &format!("{source}{header}"));
    let text = translate(source, header, &setting)?;
    let body = text.body.strip_prefix("if (id.x >= 10u) { return; }\n").map(str::to_owned);
    Ok((text.header, body.unwrap_or(text.body)))
}

fn fault(source: &str) -> Fault {
    body(source).unwrap_err()
}

#[test]
fn types_are_converted_as_c_converts_them() {
    let text = body("uint i = thread_position_in_grid.x;\ny[i] = x[i] * 2 + n;").unwrap();
    assert_eq!(text, "var v1_i: u32 = id.x;\ny[v1_i] = ((x[v1_i] * 2.0f) + f32(n[0u]));\n");
    assert_eq!(body("int k = -small[0];").unwrap(), "var v1_k: i32 = (-(i32(small[0u])));\n");
    assert_eq!(body("uchar k = n;").unwrap(), "var v1_k: u32 = (u32(n[0u]) & 255u);\n");
    assert_eq!(
        body("bool b = n; int k = b;").unwrap(),
        "var v1_b: bool = (n[0u] != 0i);\nvar v2_k: i32 = select(0i, 1i, v1_b);\n"
    );
}

#[test]
fn names_of_templates_are_known_before_anything_runs() {
    let text = body("T a[N]; if (flag) { a[N - 1] = 1; } else { nonsense(); }").unwrap();
    assert_eq!(text, "var v1_a: array<f32, 4> = array<f32, 4>();\n{\n    v1_a[3u] = 1.0f;\n}\n");
}

#[test]
fn places_in_arrays_are_distances() {
    let text = body("const device float* row = x + 3 * n; row += 1; y[0] = row[2] + *row;").unwrap();
    let expected = "var v1_row: u32 = u32((3i * n[0u]));\nv1_row = (v1_row + 1u);\n\
                    y[0u] = (x[(v1_row + 2u)] + x[(v1_row + 0u)]);\n";
    assert_eq!(text, expected);
}

#[test]
fn loops_keep_their_steps_after_continue() {
    let text = body("float s = 0; for (int i = 0; i < n; ++i) { if (i == 2) continue; s += x[i]; }").unwrap();
    assert!(text.contains("if (!((v2_i < n[0u]))) { break; }"), "{text}");
    assert!(text.contains("continuing { v2_i = (v2_i + 1i); }"), "{text}");
}

#[test]
fn arrays_of_truths_are_written_as_numbers() {
    assert_eq!(body("truths[1] = x[0] > 0;").unwrap(), "truths[1u] = select(0u, 1u, (x[0u] > 0.0f));\n");
}

#[test]
fn functions_of_the_header_are_written_for_the_types_they_are_given() {
    let header = "template <typename U>\nU twice(U v) { return v + v; }";
    let (head, text) =
        with_header("y[0] = twice(x[0]); y[1] = twice(n); y[2] = twice(x[1]);", header).unwrap();
    assert_eq!(head.matches("fn ").count(), 2, "{head}");
    assert!(head.contains("-> f32") && head.contains("-> i32"), "{head}");
    assert!(text.contains("y[1u] = f32("), "{text}");
}

#[test]
fn shapes_and_threadgroup_memory_are_declared_before_the_kernel() {
    let source =
        "threadgroup float part[4]; part[thread_position_in_threadgroup.x] = x_shape[1] * x_strides[0];";
    let (head, text) = with_header(source, "").unwrap();
    assert!(head.contains("var<private> x_sizes: array<i32, 2> = array<i32, 2>(2i, 3i);"), "{head}");
    assert!(head.contains("var<private> x_steps: array<i32, 2> = array<i32, 2>(3i, 1i);"), "{head}");
    assert!(head.contains("var<workgroup> v1_part: array<f32, 4>;"), "{head}");
    assert_eq!(text, "v1_part[local.x] = f32((x_sizes[1u] * x_steps[0u]));\n");
}

#[test]
fn what_is_not_translated_is_named_with_its_line() {
    let told = fault("float s = x[0];\ny[0] = simd_sum(s);");
    assert_eq!(told.line, 2);
    assert!(told.message.starts_with("simd_sum is not translated"), "{}", told.message);
    assert_eq!(fault("x[0] = 1;").message, "x is an input and cannot be written to");
    assert_eq!(fault("\n\ny[0] = z;").message, "z is not known here");
    assert_eq!(fault("\n\ny[0] = z;").line, 3);
    assert!(fault("threadgroup_barrier(mem_flags::mem_threadgroup);").message.contains("whole threadgroups"));
    assert!(fault("y[0] = (x[0] = 2);").message.contains("give it a line"));
    assert!(fault("y[0] = x[0] % 2;").message.contains("for integers"));
    assert!(
        fault(&format!("y[0] = {}1{};", "(".repeat(500), ")".repeat(500)))
            .message
            .contains("inside one another")
    );
}
