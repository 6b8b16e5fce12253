//! Text of Metal's language as words, with the line of each.

use super::{Fault, Outcome};

/// A word of the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word {
    Name(String),
    /// A whole number, and whether it is unsigned.
    Whole(u64, bool),
    Real(f64),
    Sign(&'static str),
    End,
}

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub word: Word,
    pub line: usize,
}

/// Signs, the longest first, so that the first that fits is the right one.
const SIGNS: [&str; 48] = [
    "<<=", ">>=", "...", "::", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=",
    "*=", "/=", "%=", "&=", "|=", "^=", "+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "<", ">", "=", "?",
    ":", ";", ",", ".", "(", ")", "[", "]", "{", "}", "#",
];

/// The words of a text. `#define NAME value` is replaced where the name stands, `#pragma` is left out, and other
/// directives are refused.
pub(super) fn words(text: &str) -> Outcome<Vec<Token>> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut defined: Vec<(String, Vec<Token>)> = Vec::new();
    let mut rest = blanked(text)?;
    rest.push('\n');
    for (number, line) in rest.lines().enumerate() {
        let line_number = number + 1;
        if let Some(directive) = line.trim_start().strip_prefix('#') {
            define(directive.trim_start(), line_number, &mut defined)?;
            continue;
        }
        for token in of_line(line, line_number)? {
            match &token.word {
                Word::Name(name) => match defined.iter().rev().find(|(known, _)| known == name) {
                    Some((_, value)) => {
                        tokens.extend(value.iter().cloned().map(|t| Token { line: line_number, ..t }))
                    }
                    None => tokens.push(token),
                },
                _ => tokens.push(token),
            }
        }
    }
    let line = tokens.last().map_or(1, |token| token.line);
    tokens.push(Token { word: Word::End, line });
    Ok(tokens)
}

fn define(directive: &str, line: usize, defined: &mut Vec<(String, Vec<Token>)>) -> Outcome<()> {
    if directive.starts_with("pragma") || directive.starts_with("include") {
        return Ok(());
    }
    let fault = || Fault::new(line, format!("#{directive} is not understood; only #define NAME value is"));
    let value = directive.strip_prefix("define").ok_or_else(fault)?;
    let mut value = of_line(value, line)?;
    let called = value.len() > 1
        && value[1].word == Word::Sign("(")
        && directive.contains(&format!("{}(", name_of(&value[0])));
    match value.first().map(|token| token.word.clone()) {
        Some(Word::Name(name)) if !called => {
            value.remove(0);
            defined.push((name, value));
            Ok(())
        }
        _ => Err(fault()),
    }
}

fn name_of(token: &Token) -> &str {
    match &token.word {
        Word::Name(name) => name,
        _ => "",
    }
}

/// The text without comments, with all its lines.
fn blanked(text: &str) -> Outcome<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if rest.starts_with("/*") {
            let line = out.matches('\n').count() + 1;
            let end = rest.find("*/").ok_or_else(|| Fault::new(line, "a comment does not end".to_owned()))?;
            out.extend(rest[..end].chars().filter(|&c| c == '\n'));
            rest = &rest[end + 2..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    Ok(out)
}

fn of_line(line: &str, number: usize) -> Outcome<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, length) = if first.is_ascii_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            (Word::Name(rest[..end].to_owned()), end)
        } else if first.is_ascii_digit()
            || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit()))
        {
            number_of(rest, number)?
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            let sign = sign.ok_or_else(|| Fault::new(number, format!("{first:?} is not understood")))?;
            (Word::Sign(sign), sign.len())
        };
        tokens.push(Token { word, line: number });
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

fn number_of(text: &str, line: usize) -> Outcome<(Word, usize)> {
    let fault = |text: &str| Fault::new(line, format!("{text:?} is not a number"));
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
        let value = u64::from_str_radix(&hex[..end], 16).map_err(|_| fault(text))?;
        let suffix = suffix_of(&hex[end..]);
        return Ok((Word::Whole(value, suffix.contains(['u', 'U'])), 2 + end + suffix.len()));
    }
    let mut end = 0;
    let bytes = text.as_bytes();
    while end < bytes.len() {
        let exponent = end > 0 && matches!(bytes[end - 1], b'e' | b'E') && matches!(bytes[end], b'+' | b'-');
        if !(bytes[end].is_ascii_digit() || matches!(bytes[end], b'.' | b'e' | b'E') || exponent) {
            break;
        }
        end += 1;
    }
    let digits = &text[..end];
    let suffix = suffix_of(&text[end..]);
    let real = digits.contains(['.', 'e', 'E']) || suffix.contains(['f', 'F', 'h', 'H']);
    let word = match real {
        true => Word::Real(digits.parse().map_err(|_| fault(digits))?),
        false => Word::Whole(digits.parse().map_err(|_| fault(digits))?, suffix.contains(['u', 'U'])),
    };
    Ok((word, end + suffix.len()))
}

fn suffix_of(text: &str) -> &str {
    let end = text
        .find(|c: char| !matches!(c, 'u' | 'U' | 'l' | 'L' | 'f' | 'F' | 'h' | 'H'))
        .unwrap_or(text.len());
    &text[..end]
}
