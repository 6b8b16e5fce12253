//! In which order operands are multiplied: the greedy order that NumPy and MLX take, unless a few operands have one that
//! needs less than half the operations.

use super::subscripts::{Label, Subscripts};

/// Up to this many operands every order is weighed.
const FEW: usize = 8;

/// Pairs of places in the list of operands; the product goes to its end.
pub(super) struct Path {
    pub steps: Vec<Vec<usize>>,
    /// Operations and largest number of axes at once, in this order.
    pub flops: f64,
    pub scaling: usize,
}

/// A set of labels as bits.
type Set = u64;

/// Labels numbered, so that sets of them are bits.
struct Labels<'a> {
    subscripts: &'a Subscripts,
    all: Vec<Label>,
}

impl<'a> Labels<'a> {
    fn new(subscripts: &'a Subscripts) -> Labels<'a> {
        let mut all: Vec<Label> = subscripts.inputs.iter().flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        Labels { subscripts, all }
    }

    fn set(&self, labels: &[Label]) -> Set {
        labels.iter().filter_map(|label| self.all.binary_search(label).ok()).fold(0, |set, i| set | 1 << i)
    }

    fn elements(&self, set: Set) -> f64 {
        let size = |i: usize| self.subscripts.size(self.all[i]) as f64;
        (0..self.all.len()).filter(|i| set >> i & 1 == 1).map(size).product()
    }

    /// Operations of a product of so many terms over these labels, summed if some do not stay.
    fn flops(&self, labels: Set, kept: Set, terms: usize) -> f64 {
        let summed = f64::from(u8::from(labels & !kept != 0));
        self.elements(labels) * ((terms.max(2) - 1) as f64 + summed)
    }
}

impl Path {
    /// Everything at once, which is what an order is compared with.
    pub fn naive(subscripts: &Subscripts) -> (f64, usize) {
        let labels = Labels::new(subscripts);
        let all = labels.all.len();
        let set = if all >= 64 { Set::MAX } else { (1 << all) - 1 };
        (labels.flops(set, labels.set(&subscripts.output), subscripts.inputs.len()), all)
    }

    pub fn find(subscripts: &Subscripts) -> Path {
        let count = subscripts.inputs.len();
        let labels = Labels::new(subscripts);
        if count <= 2 || labels.all.len() >= 64 {
            return Path::in_turn(subscripts);
        }
        let inputs: Vec<Set> = subscripts.inputs.iter().map(|list| labels.set(list)).collect();
        let output = labels.set(&subscripts.output);
        let path = |pairs: &[(usize, usize)]| Path::from_pairs(&labels, &inputs, output, pairs);
        let usual = path(&greedy(&labels, &inputs, output));
        if count > FEW {
            return usual;
        }
        let least = path(&best(&labels, &inputs, output));
        if usual.flops > 2.0 * least.flops { least } else { usual }
    }

    /// The first two, then their product with the next, and so on.
    fn in_turn(subscripts: &Subscripts) -> Path {
        let count = subscripts.inputs.len();
        let (flops, scaling) = Path::naive(subscripts);
        let steps = match count {
            1 => vec![vec![0]],
            2 => vec![vec![0, 1]],
            _ => std::iter::once(vec![0, 1]).chain((2..count).map(|i| vec![0, count - i])).collect(),
        };
        Path { steps, flops, scaling }
    }

    /// Names in pairs are of operands and of products in the order they are made; places change with each product.
    fn from_pairs(labels: &Labels, inputs: &[Set], output: Set, pairs: &[(usize, usize)]) -> Path {
        let mut sets = inputs.to_vec();
        let mut list: Vec<usize> = (0..inputs.len()).collect();
        let mut path = Path { steps: Vec::new(), flops: 0.0, scaling: 0 };
        for &(a, b) in pairs {
            let mut places: Vec<usize> = list
                .iter()
                .enumerate()
                .filter(|&(_, &name)| name == a || name == b)
                .map(|(i, _)| i)
                .collect();
            let together = sets[a] | sets[b];
            list.retain(|&name| name != a && name != b);
            let kept = list.iter().fold(output, |kept, &name| kept | sets[name]);
            path.flops += labels.flops(together, kept, 2);
            path.scaling = path.scaling.max(together.count_ones() as usize);
            list.push(sets.len());
            sets.push(together & kept);
            places.sort_unstable();
            path.steps.push(places);
        }
        path
    }
}

/// The cheapest order, by the cheapest orders of all subsets.
fn best(labels: &Labels, inputs: &[Set], output: Set) -> Vec<(usize, usize)> {
    let full = (1usize << inputs.len()) - 1;
    let union =
        |subset: usize| (0..inputs.len()).filter(|i| subset >> i & 1 == 1).fold(0, |s, i| s | inputs[i]);
    let kept = |subset: usize| union(subset) & (output | union(full & !subset));
    // For each subset the least cost, and the part it was made from.
    let mut cost = vec![f64::INFINITY; full + 1];
    let mut split = vec![0; full + 1];
    for subset in 1..=full {
        if subset.is_power_of_two() {
            cost[subset] = 0.0;
            continue;
        }
        let mut part = (subset - 1) & subset;
        while part > 0 {
            let rest = subset & !part;
            if part > rest {
                let together = kept(part) | kept(rest);
                let total = cost[part] + cost[rest] + labels.flops(together, kept(subset), 2);
                if total < cost[subset] {
                    (cost[subset], split[subset]) = (total, part);
                }
            }
            part = (part - 1) & subset;
        }
    }
    // Down the tree without recursion, then the products from the innermost out.
    let (mut stack, mut order) = (vec![full], Vec::new());
    while let Some(subset) = stack.pop() {
        if !subset.is_power_of_two() {
            order.push(subset);
            stack.extend([split[subset], subset & !split[subset]]);
        }
    }
    order.reverse();
    let mut names: Vec<(usize, usize)> = (0..inputs.len()).map(|i| (1 << i, i)).collect();
    let mut pairs = Vec::new();
    for subset in order {
        let name = |part: usize| names.iter().find(|(set, _)| *set == part).map_or(0, |&(_, name)| name);
        pairs.push((name(split[subset]), name(subset & !split[subset])));
        names.push((subset, inputs.len() + pairs.len() - 1));
    }
    pairs
}

/// The pair whose product shrinks what is held the most, again and again; pairs without a common label come last.
fn greedy(labels: &Labels, inputs: &[Set], output: Set) -> Vec<(usize, usize)> {
    let mut sets = inputs.to_vec();
    let mut list: Vec<usize> = (0..inputs.len()).collect();
    // Of pairs that are as good as each other the first counts, and those with a new product come after the others.
    let mut open: Vec<(usize, usize)> =
        list.iter().flat_map(|&a| (a + 1..inputs.len()).map(move |b| (a, b))).collect();
    let mut pairs = Vec::new();
    while list.len() > 1 {
        let joined = open.iter().any(|&(a, b)| sets[a] & sets[b] != 0);
        let mut found: Option<((f64, f64), usize, usize, Set)> = None;
        for &(a, b) in open.iter().filter(|&&(a, b)| !joined || sets[a] & sets[b] != 0) {
            let others = list.iter().filter(|&&name| name != a && name != b);
            let kept = others.fold(output, |kept, &name| kept | sets[name]);
            let together = sets[a] | sets[b];
            let growth =
                labels.elements(together & kept) - labels.elements(sets[a]) - labels.elements(sets[b]);
            let weight = (growth, labels.flops(together, kept, 2));
            if found.is_none_or(|(least, ..)| weight < least) {
                found = Some((weight, a, b, together & kept));
            }
        }
        let Some((_, a, b, set)) = found else { break };
        let made = sets.len();
        list.retain(|&name| name != a && name != b);
        open.retain(|&(x, y)| ![x, y].contains(&a) && ![x, y].contains(&b));
        open.extend(list.iter().map(|&name| (name, made)));
        list.push(made);
        sets.push(set);
        pairs.push((a, b));
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Shape;

    fn path(text: &str, shapes: &[&[usize]]) -> Path {
        let shapes: Vec<Shape> = shapes.iter().map(|&s| Shape::from(s)).collect();
        Path::find(&Subscripts::parse(text, &shapes.iter().collect::<Vec<_>>()).unwrap())
    }

    #[test]
    fn a_chain_is_multiplied_from_its_thin_end() {
        let found = path("ij,jk,kl->il", &[&[2, 10], &[10, 30], &[30, 40]]);
        assert_eq!(found.steps, [[0, 1], [0, 1]]);
        assert_eq!(found.flops, 2.0 * (2.0 * 10.0 * 30.0 + 2.0 * 30.0 * 40.0));
        let found = path("ij,jk,kl->il", &[&[20, 10], &[10, 30], &[30, 1]]);
        assert_eq!(found.steps, [[1, 2], [0, 1]]);
    }

    #[test]
    fn the_usual_order_stays_unless_another_halves_the_operations() {
        let chain = "ij,jk,kl";
        assert_eq!(path(chain, &[&[5, 8], &[8, 3], &[3, 7]]).steps, [[0, 1], [0, 1]]);
        // 840 products instead of 750 that are possible.
        assert_eq!(path(chain, &[&[5, 8], &[8, 10], &[10, 7]]).steps, [[1, 2], [0, 1]]);
        let steps = path("eb,cb,fb->cef", &[&[4, 3], &[4, 3], &[3, 3]]).steps;
        assert_eq!(steps, [[0, 2], [0, 1]]);
        // Greedy takes the pair that shrinks the most first and pays for it: 1,100,000 against 20,200.
        let found = path("ab,bc,cd->ad", &[&[1, 100], &[100, 100], &[100, 100]]);
        assert_eq!(found.steps, [[0, 1], [0, 1]]);
    }

    #[test]
    fn many_operands_get_an_order_too() {
        let text = "ab,bc,cd,de,ef,fg,gh,hi,ij,jk->ak";
        let found = path(text, &[&[3usize, 3][..]; 10]);
        assert_eq!(found.steps.len(), 9);
        assert!(found.scaling <= 3);
    }
}
