//! What the subscripts of an Einstein sum mean for operands of given shapes.

use crate::array::Shape;
use crate::error::{Error, Result};

/// A name of an axis: a letter, or a place of the ellipsis counted from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Label {
    /// An axis that the ellipsis stands for; 0 is the last.
    Ellipsis(usize),
    /// An axis with a name.
    Letter(char),
}

/// The axes of every operand and of the result, and how long they are.
#[derive(Debug)]
pub(super) struct Subscripts {
    pub inputs: Vec<Vec<Label>>,
    pub output: Vec<Label>,
    sizes: Vec<(Label, usize)>,
}

fn wrong(message: String) -> Error {
    Error::argument("einsum", message)
}

/// Letters before and after an ellipsis, if there is one.
fn letters(term: &str) -> Result<(Vec<char>, Option<Vec<char>>)> {
    let check = |part: &str| match part.chars().find(|c| !c.is_ascii_alphabetic()) {
        Some(c) => Err(wrong(format!("subscripts are letters, but one is {c:?} in {term:?}"))),
        None => Ok(part.chars().collect()),
    };
    match term.split_once("...") {
        None => Ok((check(term)?, None)),
        Some((before, after)) => Ok((check(before)?, Some(check(after)?))),
    }
}

impl Subscripts {
    pub fn parse(text: &str, shapes: &[&Shape]) -> Result<Subscripts> {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (left, right) = match text.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (text.as_str(), None),
        };
        if shapes.is_empty() {
            return Err(wrong("needs one or more operands".to_owned()));
        }
        let terms: Vec<&str> = left.split(',').collect();
        if terms.len() != shapes.len() {
            let message = format!(
                "{left:?} has subscripts for {} operands, but there are {}",
                terms.len(),
                shapes.len()
            );
            return Err(wrong(message));
        }
        let inputs =
            terms.iter().zip(shapes).map(|(term, shape)| input(term, shape)).collect::<Result<Vec<_>>>()?;
        let sizes = sizes(&inputs, shapes)?;
        let output = match right {
            Some(term) => output(term, &sizes)?,
            None => implied(&inputs, &sizes),
        };
        Ok(Subscripts { inputs, output, sizes })
    }

    /// How many elements an axis has.
    pub fn size(&self, label: Label) -> usize {
        self.sizes.iter().find(|(known, _)| *known == label).map_or(1, |&(_, size)| size)
    }

    /// The subscripts with letters, the ellipsis as it is.
    pub fn text(&self) -> String {
        let term = |labels: &[Label]| -> String {
            let mut text = String::new();
            for label in labels {
                match label {
                    Label::Letter(c) => text.push(*c),
                    Label::Ellipsis(_) if text.ends_with("...") => {}
                    Label::Ellipsis(_) => text.push_str("..."),
                }
            }
            text
        };
        let inputs: Vec<String> = self.inputs.iter().map(|labels| term(labels)).collect();
        format!("{}->{}", inputs.join(","), term(&self.output))
    }
}

fn input(term: &str, shape: &Shape) -> Result<Vec<Label>> {
    let (before, after) = letters(term)?;
    let named = before.len() + after.as_ref().map_or(0, Vec::len);
    let fits = if after.is_some() { named <= shape.len() } else { named == shape.len() };
    if !fits {
        let message =
            format!("{term:?} names {named} axes, but its operand of shape {shape} has {}", shape.len());
        return Err(wrong(message));
    }
    let mut labels: Vec<Label> = before.into_iter().map(Label::Letter).collect();
    if let Some(after) = after {
        labels.extend((0..shape.len() - named).rev().map(Label::Ellipsis));
        labels.extend(after.into_iter().map(Label::Letter));
    }
    Ok(labels)
}

/// The size of each axis; one element is repeated where others have more.
fn sizes(inputs: &[Vec<Label>], shapes: &[&Shape]) -> Result<Vec<(Label, usize)>> {
    let mut sizes: Vec<(Label, usize)> = Vec::new();
    for (operand, (labels, shape)) in inputs.iter().zip(shapes).enumerate() {
        for (&label, &size) in labels.iter().zip(shape.iter()) {
            match sizes.iter_mut().find(|(known, _)| *known == label) {
                None => sizes.push((label, size)),
                Some((_, known)) if *known == size || size == 1 => {}
                Some((_, known)) if *known == 1 => *known = size,
                Some((_, known)) => {
                    let message = format!(
                        "axis {label:?} of operand {operand} of shape {shape} has {size} elements, elsewhere it has {known}"
                    );
                    return Err(wrong(message));
                }
            }
        }
    }
    Ok(sizes)
}

fn output(term: &str, sizes: &[(Label, usize)]) -> Result<Vec<Label>> {
    let (before, after) = letters(term)?;
    let mut labels: Vec<Label> = before.into_iter().map(Label::Letter).collect();
    if let Some(after) = after {
        labels.extend(ellipsis(sizes));
        labels.extend(after.into_iter().map(Label::Letter));
    }
    for (i, label) in labels.iter().enumerate() {
        if labels[..i].contains(label) {
            return Err(wrong(format!("the result names an axis twice: {term:?}")));
        }
        if !sizes.iter().any(|(known, _)| known == label) {
            return Err(wrong(format!("the result {term:?} names an axis that no operand has")));
        }
    }
    Ok(labels)
}

/// The axes of the ellipsis in order.
fn ellipsis(sizes: &[(Label, usize)]) -> Vec<Label> {
    let mut found: Vec<Label> =
        sizes.iter().map(|&(label, _)| label).filter(|label| matches!(label, Label::Ellipsis(_))).collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found
}

/// The result without an arrow: the ellipsis, then the letters that occur once, by name.
fn implied(inputs: &[Vec<Label>], sizes: &[(Label, usize)]) -> Vec<Label> {
    let times = |label: &Label| inputs.iter().flatten().filter(|other| *other == label).count();
    let mut once: Vec<Label> = inputs
        .iter()
        .flatten()
        .copied()
        .filter(|label| matches!(label, Label::Letter(_)) && times(label) == 1)
        .collect();
    once.sort_unstable();
    ellipsis(sizes).into_iter().chain(once).collect()
}
