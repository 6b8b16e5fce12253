//! Environment variables: each has a range, and what lies outside of it is said once on standard error, not obeyed.

use std::ops::RangeInclusive;

/// The text of a variable; `None` if it is not set, or empty.
fn text(name: &str) -> Option<String> {
    let text = std::env::var_os(name).filter(|text| !text.is_empty())?;
    Some(text.to_string_lossy().into_owned())
}

/// A variable that is a number of this range.
pub(crate) fn number(name: &str, range: RangeInclusive<u64>) -> Option<u64> {
    let text = text(name)?;
    let number = parse_number(&text, &range);
    if number.is_none() {
        let (least, most) = range.into_inner();
        let most = if most == u64::MAX { "on".to_owned() } else { format!("to {most}") };
        eprintln!("pellucid: {name}={text} is not a number from {least} {most}; ignored");
    }
    number
}

/// A variable that is on or off; `None` if it is not set, or neither.
pub(crate) fn flag(name: &str) -> Option<bool> {
    let text = text(name)?;
    let flag = parse_flag(&text);
    if flag.is_none() {
        eprintln!("pellucid: {name}={text} is neither 1 nor 0; ignored");
    }
    flag
}

/// A variable that is one of a few words, given with what each stands for. Of several words for one thing the first is
/// shown.
pub(crate) fn choice<T: Copy + PartialEq>(name: &str, words: &[(&str, T)]) -> Option<T> {
    let text = text(name)?;
    let found = words.iter().find(|(word, _)| *word == text).map(|&(_, meaning)| meaning);
    if found.is_none() {
        eprintln!("pellucid: {name}={text:?} is not {}; ignored", listed(words));
    }
    found
}

fn listed<T: Copy + PartialEq>(words: &[(&str, T)]) -> String {
    let first = |&(i, &(_, meaning)): &(usize, &(&str, T))| words[..i].iter().all(|&(_, m)| m != meaning);
    let shown: Vec<&str> = words.iter().enumerate().filter(first).map(|(_, &(word, _))| word).collect();
    match shown.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => shown.concat(),
    }
}

fn parse_number(text: &str, range: &RangeInclusive<u64>) -> Option<u64> {
    text.trim().parse().ok().filter(|number| range.contains(number))
}

fn parse_flag(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "on" | "yes" => Some(true),
        "0" | "false" | "off" | "no" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_outside_its_range_is_none() {
        assert_eq!(parse_number(" 8 ", &(1..=1024)), Some(8));
        for text in ["0", "1000000", "-1", "1.5", "many", "99999999999999999999999"] {
            assert_eq!(parse_number(text, &(1..=1024)), None, "{text}");
        }
    }

    #[test]
    fn words_for_one_thing_are_listed_once() {
        assert_eq!(listed(&[("a", 1), ("b", 2), ("also a", 1), ("c", 3)]), "a, b or c");
    }

    #[test]
    fn a_flag_is_on_or_off_in_the_usual_words_and_nothing_else() {
        assert_eq!([parse_flag("1"), parse_flag("True"), parse_flag("yes")], [Some(true); 3]);
        assert_eq!([parse_flag("0"), parse_flag("FALSE"), parse_flag("off")], [Some(false); 3]);
        assert_eq!([parse_flag("2"), parse_flag("maybe")], [None; 2]);
    }
}
