//! Arguments: all exponents and signs, what is special, and where functions are hard.

/// Between two floats of the sweep. `PELLUCID_ACCURACY_STEP` makes it finer.
fn step() -> u32 {
    let given = std::env::var("PELLUCID_ACCURACY_STEP").ok();
    given.map_or(49_999, |s| s.parse().expect("PELLUCID_ACCURACY_STEP is a number of floats, at least 1"))
}

/// Zeros, ones, infinities, NaN and the ends of the ranges.
pub fn specials() -> Vec<f64> {
    let positive = [0.0, 0.5, 1.0, 2.0, 2.5, 3.0, f64::INFINITY];
    let mut all: Vec<f64> = positive.iter().flat_map(|&x| [x, -x]).collect();
    all.push(f64::NAN);
    all
}

pub fn float32() -> Vec<f64> {
    let sweep = (0..=u32::MAX / step()).map(|i| f32::from_bits(i * step()));
    let dense = (-20_000..20_000).map(|i| i as f32 / 1000.0);
    let edges = [f32::MAX, f32::MIN_POSITIVE, f32::from_bits(1), f32::from_bits(0x007f_ffff)];
    let edges = edges.into_iter().flat_map(|x| [x, -x]);
    // The floats around one, and around multiples of π/2, near and far.
    let ones = (0..2000).flat_map(|i| [0x3f80_0000 + i, 0x3f80_0000 - i]).map(f32::from_bits);
    let ones = ones.flat_map(|x| [x, -x]);
    let quarters = (1..25_000u32).chain((15..100).map(|i| i * 7_919_999)).flat_map(|k| {
        let x = (f64::from(k) * std::f64::consts::FRAC_PI_2) as f32;
        [x.next_down(), x, x.next_up(), -x]
    });
    let all = sweep.chain(dense).chain(edges).chain(ones).chain(quarters);
    all.map(f64::from).chain(specials()).collect()
}

/// Pairs of any bits, of usual numbers, around the edges of powers, and of what is special.
pub fn float32_pairs() -> Vec<(f64, f64)> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    };
    let specials: Vec<f32> =
        specials().into_iter().map(|x| x as f32).chain([1e-40, -1e-40, 1e38, 16_777_217.0]).collect();
    let mut pairs: Vec<(f32, f32)> =
        specials.iter().flat_map(|&a| specials.iter().map(move |&b| (a, b))).collect();
    let share = |n: u32| n as f32 / u32::MAX as f32;
    for _ in 0..(2_000_000_000 / step()).clamp(100_000, 4_000_000) {
        pairs.push((f32::from_bits(next()), f32::from_bits(next())));
        pairs.push((share(next()) * 40.0 - 20.0, share(next()) * 40.0 - 20.0));
        // Powers between the smallest and the largest float, and a little beyond.
        let base = f32::from_bits(next() % 0x7f80_0000);
        let exponent = (share(next()) * 320.0 - 165.0) / base.log2();
        pairs.push((base, exponent));
        pairs.push((1.0 + (share(next()) - 0.5) * 1e-3, (share(next()) - 0.5) * 2e5));
        // Bases and exponents whose powers are whole numbers.
        pairs.push(((next() % 2000) as f32 - 1000.0, (next() % 40) as f32 - 8.0));
    }
    pairs.into_iter().map(|(a, b)| (f64::from(a), f64::from(b))).collect()
}
