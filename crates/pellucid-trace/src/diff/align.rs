//! Which rows of one list correspond to which of another: the patience method. Keys that occur once in both lists
//! anchor the rest; small pieces between anchors are solved exactly.

use std::collections::HashMap;

/// Pieces up to this many pairs are solved exactly.
const EXACT: usize = 4_000_000;
/// How deep anchors are searched within anchors.
const DEPTH: usize = 64;

/// Pairs of positions with equal keys, rising in both lists.
pub(super) fn align(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    piece(a, b, 0, 0, DEPTH, &mut pairs);
    pairs
}

fn piece(a: &[u64], b: &[u64], from_a: usize, from_b: usize, depth: usize, pairs: &mut Vec<(usize, usize)>) {
    let same_start = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    pairs.extend((0..same_start).map(|i| (from_a + i, from_b + i)));
    let (a, b) = (&a[same_start..], &b[same_start..]);
    let (from_a, from_b) = (from_a + same_start, from_b + same_start);
    let same_end = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    let (inner_a, inner_b) = (&a[..a.len() - same_end], &b[..b.len() - same_end]);
    if !inner_a.is_empty() && !inner_b.is_empty() {
        middle(inner_a, inner_b, from_a, from_b, depth, pairs);
    }
    let (end_a, end_b) = (from_a + inner_a.len(), from_b + inner_b.len());
    pairs.extend((0..same_end).map(|i| (end_a + i, end_b + i)));
}

fn middle(a: &[u64], b: &[u64], from_a: usize, from_b: usize, depth: usize, pairs: &mut Vec<(usize, usize)>) {
    if a.len().saturating_mul(b.len()) <= EXACT {
        pairs.extend(exact(a, b).into_iter().map(|(i, j)| (from_a + i, from_b + j)));
        return;
    }
    let anchors = if depth == 0 { Vec::new() } else { rising(anchors(a, b)) };
    if anchors.is_empty() {
        // Nothing stands out: the n-th occurrence of a key is taken for the n-th, as far as the order allows.
        let nth = |list: &[u64]| {
            let mut seen: HashMap<u64, u64> = HashMap::new();
            let mut number = |key: &u64| {
                let count = seen.entry(*key).or_default();
                *count += 1;
                key.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ *count
            };
            list.iter().map(&mut number).collect::<Vec<u64>>()
        };
        let (a, b) = (nth(a), nth(b));
        let found = rising(self::anchors(&a, &b));
        pairs.extend(found.into_iter().map(|(i, j)| (from_a + i, from_b + j)));
        return;
    }
    let (mut last_a, mut last_b) = (0, 0);
    for (i, j) in anchors.iter().copied().chain([(a.len(), b.len())]) {
        piece(&a[last_a..i], &b[last_b..j], from_a + last_a, from_b + last_b, depth - 1, pairs);
        if i < a.len() {
            pairs.push((from_a + i, from_b + j));
            (last_a, last_b) = (i + 1, j + 1);
        }
    }
}

/// Positions of keys that occur once in each list, in the order of the first.
fn anchors(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    let once = |list: &[u64]| {
        let mut places: HashMap<u64, Option<usize>> = HashMap::new();
        for (i, key) in list.iter().enumerate() {
            places.entry(*key).and_modify(|place| *place = None).or_insert(Some(i));
        }
        places
    };
    let (in_a, in_b) = (once(a), once(b));
    let at = |places: &HashMap<u64, Option<usize>>, key: &u64| places.get(key).copied().flatten();
    a.iter().filter_map(|key| Some((at(&in_a, key)?, at(&in_b, key)?))).collect()
}

/// The longest part of `pairs` that rises in the second position as it does in the first.
fn rising(pairs: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    let mut piles: Vec<usize> = Vec::new();
    let mut before = vec![usize::MAX; pairs.len()];
    for (i, (_, j)) in pairs.iter().enumerate() {
        let pile = piles.partition_point(|top| pairs[*top].1 < *j);
        before[i] = pile.checked_sub(1).map_or(usize::MAX, |pile| piles[pile]);
        if pile == piles.len() {
            piles.push(i);
        } else {
            piles[pile] = i;
        }
    }
    let mut found = Vec::with_capacity(piles.len());
    let mut at = piles.last().copied().unwrap_or(usize::MAX);
    while at != usize::MAX {
        found.push(pairs[at]);
        at = before[at];
    }
    found.reverse();
    found
}

/// A longest common subsequence by the textbook table.
fn exact(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    let width = b.len() + 1;
    let mut best = vec![0_u16; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            best[i * width + j] = if a[i] == b[j] {
                best[(i + 1) * width + j + 1].saturating_add(1)
            } else {
                best[(i + 1) * width + j].max(best[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::new();
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if best[(i + 1) * width + j] >= best[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_common_subsequence(a: &[u64], b: &[u64], pairs: &[(usize, usize)]) -> bool {
        pairs.iter().all(|(i, j)| a[*i] == b[*j])
            && pairs.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1)
    }

    proptest! {
        #[test]
        fn pairs_are_equal_and_rise(
            a in prop::collection::vec(0_u64..6, 0..40), b in prop::collection::vec(0_u64..6, 0..40),
        ) {
            let pairs = align(&a, &b);
            prop_assert!(is_common_subsequence(&a, &b, &pairs));
            prop_assert_eq!(pairs.len(), exact(&a, &b).len());
        }
    }

    #[test]
    fn an_insertion_into_a_long_list_moves_only_what_is_behind_it() {
        let a: Vec<u64> = (0..100_000).collect();
        let mut b = a.clone();
        b.splice(40_000..40_000, [7_000_001, 7_000_002]);
        b.remove(90_000);
        let pairs = align(&a, &b);
        assert!(is_common_subsequence(&a, &b, &pairs));
        assert_eq!(pairs.len(), 99_999);
    }

    #[test]
    fn long_lists_without_anchors_are_aligned_by_occurrence() {
        let a: Vec<u64> = (0..30_000).map(|i| i % 7).collect();
        let b: Vec<u64> = (1..30_000).map(|i| (i * 3) % 7).collect();
        assert!(is_common_subsequence(&a, &b, &align(&a, &b)));
    }
}
