//! Functions that WGSL lacks, or defines too loosely: drivers may be off by thousands of ULPs in `asin` and flush or
//! drop NaN. Each kernel gets those it calls and what they call.
//!
//! They choose between results instead of branching, and combine conditions by `|` and `&`, since `||` and `&&` are
//! branches too: neighbours run together, so that most branches are taken by both
//! sides anyway, and a software adapter pays for the masks besides.

use super::functions::integer_helper;
use super::{angles, powers};

/// The functions named in `text`, with those they need.
pub(super) fn helpers_for(text: &str) -> String {
    let mut all = text.to_owned();
    let mut chosen: Vec<&str> = Vec::new();
    // Later ones call earlier ones only.
    for &(name, source) in HELPERS.iter().chain(angles::HELPERS).chain(powers::HELPERS).rev() {
        if calls(&all, name) {
            all.push_str(source);
            chosen.push(source);
        }
    }
    chosen.reverse();
    let mut result = chosen.concat();
    for name in ["floor_divide", "remainder", "power"] {
        for ty in ["i32", "u32", "i64", "u64"] {
            if calls(text, &format!("{name}_{ty}")) {
                result.push_str(&integer_helper(name, ty));
            }
        }
    }
    result
}

/// Whether `name` is called somewhere, as a whole word.
fn calls(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !word && text[at + name.len()..].starts_with('(')
    })
}

/// Name and source. Infinities and NaN go through a variable, because WGSL refuses them as constants.
const HELPERS: &[(&str, &str)] = &[
    // Drivers reorder sums and join constants, which undoes what was split to keep digits: hide a result from them.
    ("keep_", "fn keep_(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ p.zero); }\n"),
    ("pack_", "fn pack_(a: u32, b: u32) -> u64 { return u64(a) | (u64(b) << 32u); }\n"),
    ("inf_", "fn inf_() -> f32 { var b = 0x7f800000u; return bitcast<f32>(b); }\n"),
    ("nan_", "fn nan_() -> f32 { var b = 0x7fc00000u; return bitcast<f32>(b); }\n"),
    ("isnan_", "fn isnan_(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }\n"),
    ("isinf_", "fn isinf_(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u; }\n"),
    ("isfin_", "fn isfin_(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) < 0x7f800000u; }\n"),
    (
        "copysign_",
        "fn copysign_(x: f32, s: f32) -> f32 {
    return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(s) & 0x80000000u));
}\n",
    ),
    (
        "f16_bits",
        "fn f16_bits(x: f32) -> u32 {
    let b = bitcast<u32>(x);
    let a = b & 0x7fffffffu;
    let normal = (a + 0xc8000fffu + ((a >> 13u) & 1u)) >> 13u;
    let small = u32(round(min(bitcast<f32>(a), 1.0) * 16777216.0));
    let large = select(0x7c00u, 0x7e00u, a > 0x7f800000u);
    return ((b >> 16u) & 0x8000u) | select(select(normal, small, a < 0x38800000u), large, a >= 0x477ff000u);
}\n",
    ),
    (
        "f16_value",
        "fn f16_value(h: u32) -> f32 {
    let e = h & 0x7c00u;
    let f = h & 0x3ffu;
    let normal = ((h & 0x7fffu) << 13u) + 0x38000000u;
    let small = bitcast<u32>(f32(f) * 5.9604644775390625e-8);
    let bits = select(select(normal, small, e == 0u), 0x7f800000u | (f << 13u), e == 0x7c00u);
    return bitcast<f32>(((h & 0x8000u) << 16u) | bits);
}\n",
    ),
    (
        "bf16_bits",
        "fn bf16_bits(x: f32) -> u32 {
    let b = bitcast<u32>(x);
    return select(b + 0x7fffu + ((b >> 16u) & 1u), b | 0x400000u, isnan_(x)) >> 16u;
}\n",
    ),
    ("bf16_value", "fn bf16_value(h: u32) -> f32 { return bitcast<f32>(h << 16u); }\n"),
    ("r16_", "fn r16_(x: f32) -> f32 { return f16_value(f16_bits(x)); }\n"),
    ("rbf_", "fn rbf_(x: f32) -> f32 { return bf16_value(bf16_bits(x)); }\n"),
    (
        "f_to_i",
        "fn f_to_i(x: f32, low: i32, high: i32) -> i32 {
    let v = select(select(i32(x), low, x <= f32(low)), high, x >= f32(high));
    return select(v, 0, isnan_(x));
}\n",
    ),
    (
        "f_to_u",
        "fn f_to_u(x: f32, high: u32) -> u32 {
    return select(select(u32(x), high, x >= f32(high)), 0u, !(x > 0.0));
}\n",
    ),
    (
        "f_to_i64",
        "fn f_to_i64(x: f32) -> i64 {
    if (isnan_(x)) { return 0li; }
    if (x >= 9223372036854775808.0) { return 9223372036854775807li; }
    if (x <= -9223372036854775808.0) { return -9223372036854775807li - 1li; }
    return i64(x);
}\n",
    ),
    (
        "f_to_u64",
        "fn f_to_u64(x: f32) -> u64 {
    if (!(x > 0.0)) { return 0lu; }
    if (x >= 18446744073709551616.0) { return 18446744073709551615lu; }
    return u64(x);
}\n",
    ),
    ("pow2_", "fn pow2_(n: i32) -> f32 { return bitcast<f32>(u32(n + 127) << 23u); }\n"),
    // x = n ln 2 + r; expm1(r) and n.
    (
        "expr_",
        "struct Reduced_ { e: f32, n: i32 }
fn expr_(x: f32) -> Reduced_ {
    let nf = round(x * 1.4426950408889634);
    var r = keep_(fma(nf, -0.693359375, x));
    r = fma(nf, 2.1219444005469058e-4, r);
    var q = fma(r, 1.395047293e-03, 8.368884213e-03);
    q = fma(r, q, 4.166620597e-02);
    q = fma(r, q, 1.666651815e-01);
    q = fma(r, q, 0.5);
    return Reduced_(fma(r * r, q, r), i32(nf));
}\n",
    ),
    (
        "exp_",
        "fn exp_(x: f32) -> f32 {
    let r = expr_(clamp(x, -104.0, 89.0));
    let half = r.n >> 1u;
    return select((1.0 + r.e) * pow2_(half) * pow2_(r.n - half), x, isnan_(x));
}\n",
    ),
    (
        "expm1_",
        "fn expm1_(x: f32) -> f32 {
    let r = expr_(clamp(x, -30.0, 89.0));
    let s = pow2_(r.n - 1);
    return select(select(2.0 * fma(s, r.e, s - 0.5), r.e, r.n == 0), x, isnan_(x) | (x == 0.0));
}\n",
    ),
    // log of a number in [sqrt 1/2, sqrt 2) given as f = m - 1.
    (
        "log_poly_",
        "fn log_poly_(f: f32) -> f32 {
    var p = fma(f, 6.915164739e-02, -1.178970486e-01);
    p = fma(f, p, 1.187301353e-01);
    p = fma(f, p, -1.238436848e-01);
    p = fma(f, p, 1.421865523e-01);
    p = fma(f, p, -1.666924953e-01);
    p = fma(f, p, 2.000222653e-01);
    p = fma(f, p, -2.499998659e-01);
    return fma(f, p, 3.333331048e-01);
}\n",
    ),
    (
        "log_parts_",
        "struct Parts_ { f: f32, e: f32 }
fn log_parts_(x: f32) -> Parts_ {
    let tiny = x < 1.1754943508222875e-38;
    let y = select(x, x * 8388608.0, tiny);
    let bits = bitcast<i32>(y);
    let e = (bits - 0x3f3504f3) >> 23u;
    return Parts_(bitcast<f32>(bits - (e << 23u)) - 1.0, f32(e) + select(0.0, -23.0, tiny));
}\n",
    ),
    // What a logarithm is where it is not the number r.
    (
        "log_edge_",
        "fn log_edge_(x: f32, r: f32) -> f32 {
    return select(select(nan_(), -inf_(), x == 0.0), select(r, x, isinf_(x)), x > 0.0);
}\n",
    ),
    (
        "log_",
        "fn log_(x: f32) -> f32 {
    let s = log_parts_(x);
    let z = s.f * s.f;
    var r = fma(s.e, -2.1219444005469058e-4, s.f * z * log_poly_(s.f));
    r = s.f + fma(-0.5, z, r);
    return log_edge_(x, fma(s.e, 0.693359375, r));
}\n",
    ),
    (
        "log2_",
        "fn log2_(x: f32) -> f32 {
    let s = log_parts_(x);
    let z = s.f * s.f;
    let r = s.f + fma(-0.5, z, s.f * z * log_poly_(s.f));
    return log_edge_(x, fma(r, 1.4426950408889634, s.e));
}\n",
    ),
    (
        "log10_",
        "fn log10_(x: f32) -> f32 {
    let s = log_parts_(x);
    let z = s.f * s.f;
    let r = keep_(s.f + fma(-0.5, z, s.f * z * log_poly_(s.f)));
    return log_edge_(x, fma(s.e, 0.30078125, fma(s.e, 2.4874569584e-4, r * 0.4342944819032518)));
}\n",
    ),
    (
        "log1p_",
        "fn log1p_(x: f32) -> f32 {
    let u = keep_(1.0 + x);
    let l = log_(u);
    let v = select(l, l + (x - (u - 1.0)) / u, (u > 0.0) & (x < 16777216.0));
    return select(v, x, u == 1.0);
}\n",
    ),
    (
        "tanh_",
        "fn tanh_(x: f32) -> f32 {
    let a = abs(x);
    let z = x * x;
    var p = fma(z, 2.147526713e-03, -8.182661608e-03);
    p = fma(z, p, 2.170296200e-02);
    p = fma(z, p, -5.394720286e-02);
    p = fma(z, p, 1.333321035e-01);
    p = fma(z, p, -3.333333135e-01);
    let r = expr_(2.0 * min(a, 44.0));
    let large = 1.0 - 2.0 / fma(1.0 + r.e, pow2_(r.n), 1.0);
    return select(copysign_(select(large, fma(a * z, p, a), a < 0.625), x), x, isnan_(x));
}\n",
    ),
    (
        "sigmoid_",
        "fn sigmoid_(x: f32) -> f32 {
    let e = exp_(-abs(x));
    return select(e, 1.0, x >= 0.0) / (1.0 + e);
}\n",
    ),
    (
        "erf_",
        "fn erf_(x: f32) -> f32 {
    let a = abs(x);
    let z = x * x;
    var p = fma(z, -1.025355505e-05, 1.144387643e-04);
    p = fma(z, p, -8.505202713e-04);
    p = fma(z, p, 5.222269334e-03);
    p = fma(z, p, -2.686580084e-02);
    p = fma(z, p, 1.128378808e-01);
    p = fma(z, p, -3.761263788e-01);
    p = fma(z, p, 1.283791661e-01);
    let t = min(a, 4.0);
    var q = fma(t, 6.035393767e-07, -1.198752852e-05);
    q = fma(t, q, 1.042045551e-04);
    q = fma(t, q, -5.010307068e-04);
    q = fma(t, q, 1.236177166e-03);
    q = fma(t, q, 6.020903820e-04);
    q = fma(t, q, -1.996035688e-02);
    q = fma(t, q, 1.032930911e-01);
    q = fma(t, q, 6.364348531e-01);
    q = fma(t, q, 1.128407836e+00);
    let r = expr_(-(t * q));
    let large = copysign_(1.0 - (1.0 + r.e) * pow2_(r.n), x);
    return select(select(large, fma(x, p, x), a < 0.925), x, isnan_(x));
}\n",
    ),
    (
        "erfinv_",
        "fn erfinv_(x: f32) -> f32 {
    let a = abs(x);
    let w = -log_(keep_(1.0 - x) * keep_(1.0 + x));
    let c = w - 2.5;
    var p = fma(2.81022636e-08, c, 3.43273939e-07);
    p = fma(p, c, -3.5233877e-06);
    p = fma(p, c, -4.39150654e-06);
    p = fma(p, c, 0.00021858087);
    p = fma(p, c, -0.00125372503);
    p = fma(p, c, -0.00417768164);
    p = fma(p, c, 0.246640727);
    p = fma(p, c, 1.50140941);
    let t = sqrt(w) - 3.0;
    var q = fma(-0.000200214257, t, 0.000100950558);
    q = fma(q, t, 0.00134934322);
    q = fma(q, t, -0.00367342844);
    q = fma(q, t, 0.00573950773);
    q = fma(q, t, -0.0076224613);
    q = fma(q, t, 0.00943887047);
    q = fma(q, t, 1.00167406);
    q = fma(q, t, 2.83297682);
    let v = select(select(q, p, w < 5.0) * x, copysign_(inf_(), x), a == 1.0);
    return select(nan_(), v, a <= 1.0);
}\n",
    ),
    // Exact quotient and remainder of huge angles: 2/pi to 192 bits, multiplied by the mantissa.
    (
        "huge_angle_",
        "fn two_over_pi_(i: u32) -> u32 {
    switch i {
        case 0u: { return 0u; } case 1u: { return 0xa2f9836eu; } case 2u: { return 0x4e441529u; }
        case 3u: { return 0xfc2757d1u; } case 4u: { return 0xf534ddc0u; } case 5u: { return 0xdb629599u; }
        case 6u: { return 0x3c439041u; } default: { return 0xfe5163abu; }
    }
}
fn mul_high_(a: u32, b: u32) -> u32 {
    let al = a & 0xffffu; let ah = a >> 16u; let bl = b & 0xffffu; let bh = b >> 16u;
    let mid = ah * bl + ((al * bl) >> 16u);
    let low = al * bh + (mid & 0xffffu);
    return ah * bh + (mid >> 16u) + (low >> 16u);
}
fn huge_angle_(x: f32) -> Angle_ {
    let b = bitcast<u32>(x);
    let e = i32((b >> 23u) & 0xffu) - 150;
    let m = (b & 0x7fffffu) | 0x800000u;
    // Bits of 2/pi from 2^(2 - e) down: those above make multiples of four quarters.
    let first = u32(e + 30);
    let word = first >> 5u;
    let shift = first & 31u;
    var w0 = two_over_pi_(word) << shift;
    var w1 = two_over_pi_(word + 1u) << shift;
    var w2 = two_over_pi_(word + 2u) << shift;
    if (shift != 0u) {
        w0 |= two_over_pi_(word + 1u) >> (32u - shift);
        w1 |= two_over_pi_(word + 2u) >> (32u - shift);
        w2 |= two_over_pi_(word + 3u) >> (32u - shift);
    }
    let l1 = w1 * m;
    let mid = l1 + mul_high_(w2, m);
    let carry = select(0u, 1u, mid < l1);
    var high = w0 * m + mul_high_(w1, m) + carry;
    var low = mid;
    var q = high >> 30u;
    high = high & 0x3fffffffu;
    var sign = 1.0;
    if (high >= 0x20000000u) {
        // Past the half: measured from the next quarter.
        q = q + 1u;
        low = ~low + 1u;
        high = 0x40000000u - high - select(1u, 0u, low == 0u);
        sign = -1.0;
    }
    // The first 32 bits that are not zero, times pi/2 in integers: one rounding for all of it.
    let above = high != 0u;
    let zeros = countLeadingZeros(select(low, high, above));
    let joined = (high << (zeros & 31u)) | (low >> (32u - zeros));
    let bits = select(low << (zeros & 31u), joined, above);
    let r = f32(mul_high_(bits, 0xc90fdaa2u)) * pow2_(-29 - i32(zeros) - select(32, 0, above)) * sign;
    if (x < 0.0) { return Angle_(-r, -i32(q)); }
    return Angle_(r, i32(q));
}\n",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_gets_what_it_calls_and_what_that_calls() {
        let text = helpers_for("out[i] = tanh_(x);");
        assert!(text.contains("fn tanh_(") && text.contains("fn expr_(") && text.contains("fn copysign_("));
        assert!(!text.contains("fn sin_("));
        assert_eq!(helpers_for("atanh(x)"), "");
    }
}
