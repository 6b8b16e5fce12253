//! Functions of `f32` in `f32` arithmetic, without branches, so that the compiler turns loops over them into vector
//! code. The polynomials are least-maximum fits on the reduced interval; each function stays within 2 ULP.

#![allow(clippy::excessive_precision, reason = "coefficients are written as they were fitted")]

use super::isa::Isa;

/// Adding and subtracting it rounds to the nearest integer, which then stands in the low bits.
const ROUND: f32 = 12_582_912.0;

/// 2^n for −126 ≤ n ≤ 127.
#[inline(always)]
fn pow2(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

/// x = n·ln 2 + r with |r| ≤ ln 2 / 2; gives (expm1(r), n, n as float).
#[inline(always)]
fn exp_reduced<I: Isa>(x: f32) -> (f32, i32, f32) {
    let t = I::fma(x, std::f32::consts::LOG2_E, ROUND);
    let n = (t.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
    let nf = t - ROUND;
    // ln 2 in two parts; the first has few enough bits that its product with n is exact.
    let r = I::fma(nf, -0.693_359_375, x);
    let r = I::fma(nf, 2.121_944_400_546_905_8e-4, r);
    let q = I::poly(r, [5.000000000e-01, 1.666651815e-01, 4.166620597e-02, 8.368884213e-03, 1.395047293e-03]);
    (I::fma(r * r, q, r), n, nf)
}

/// e^x, subnormal results included.
#[inline(always)]
pub(super) fn exp<I: Isa>(x: f32) -> f32 {
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -104.0 { -104.0 } else { x };
    let (e, n, _) = exp_reduced::<I>(x);
    // 2^n in two factors: neither leaves the normal range, and only the last product rounds.
    let half = n >> 1;
    (1.0 + e) * pow2(half) * pow2(n.wrapping_sub(half))
}

/// e^x − 1.
#[inline(always)]
pub(super) fn expm1<I: Isa>(x: f32) -> f32 {
    let c = if x > 89.0 { 89.0 } else { x };
    let c = if c < -30.0 { -30.0 } else { c };
    let (e, n, nf) = exp_reduced::<I>(c);
    let s = pow2(n.wrapping_sub(1));
    let scaled = 2.0 * I::fma(s, e, s - 0.5);
    let y = if nf == 0.0 { e } else { scaled };
    if x == 0.0 { x } else { y }
}

/// Natural logarithm.
#[inline(always)]
pub(super) fn log<I: Isa>(x: f32) -> f32 {
    let tiny = x < f32::MIN_POSITIVE;
    let y = if tiny { x * 8_388_608.0 } else { x };
    let bias = if tiny { -23.0 } else { 0.0 };
    // x = m·2^e with m in [√½, √2).
    let bits = y.to_bits() as i32;
    let e = bits.wrapping_sub(0x3f35_04f3) >> 23;
    let f = f32::from_bits(bits.wrapping_sub(e << 23) as u32) - 1.0;
    let e = e as f32 + bias;
    let p = I::poly(
        f,
        [
            3.333331048e-01,
            -2.499998659e-01,
            2.000222653e-01,
            -1.666924953e-01,
            1.421865523e-01,
            -1.238436848e-01,
            1.187301353e-01,
            -1.178970486e-01,
            6.915164739e-02,
        ],
    );
    let z = f * f;
    let r = I::fma(e, -2.121_944_400_546_905_8e-4, f * z * p);
    let r = f + I::fma(-0.5, z, r);
    let r = I::fma(e, 0.693_359_375, r);
    let r = if x == f32::INFINITY { x } else { r };
    let edge = if x == 0.0 { f32::NEG_INFINITY } else { f32::NAN };
    if x > 0.0 { r } else { edge }
}

/// Hyperbolic tangent.
#[inline(always)]
pub(super) fn tanh<I: Isa>(x: f32) -> f32 {
    let a = x.abs();
    let z = x * x;
    let p = I::poly(
        z,
        [
            -3.333333135e-01,
            1.333321035e-01,
            -5.394720286e-02,
            2.170296200e-02,
            -8.182661608e-03,
            2.147526713e-03,
        ],
    );
    let small = I::fma(a * z, p, a);
    // Beyond 9.1 the result rounds to one, and e^(2·44) is still finite.
    let c = if a > 44.0 { 44.0 } else { a };
    let (e, n, _) = exp_reduced::<I>(c + c);
    let large = 1.0 - 2.0 / I::fma(1.0 + e, pow2(n), 1.0);
    (if a < 0.625 { small } else { large }).copysign(x)
}

/// 1 / (1 + e^−x), exact to the last subnormal on the left.
#[inline(always)]
pub(super) fn sigmoid<I: Isa>(x: f32) -> f32 {
    let a = -x.abs();
    let a = if a < -104.0 { -104.0 } else { a };
    let (e, n, _) = exp_reduced::<I>(a);
    let p = 1.0 + e;
    // What the sums lose is put back through the derivative of the quotient.
    let lost = e - (p - 1.0);
    let half = n >> 1;
    let (s, t) = (pow2(half), pow2(n.wrapping_sub(half)));
    let (high, low) = (p * s * t, lost * s * t);
    let bottom = 1.0 + high;
    let bottom_low = (high - (bottom - 1.0)) + low;
    let right = x >= 0.0;
    let quotient = (if right { 1.0 } else { high }) / bottom;
    quotient + ((if right { 0.0 } else { low }) - quotient * bottom_low) / bottom
}

/// Error function.
#[inline(always)]
pub(super) fn erf<I: Isa>(x: f32) -> f32 {
    let a = x.abs();
    let z = x * x;
    let p = I::poly(
        z,
        [
            1.283791661e-01,
            -3.761263788e-01,
            1.128378808e-01,
            -2.686580084e-02,
            5.222269334e-03,
            -8.505202713e-04,
            1.144387643e-04,
            -1.025355505e-05,
        ],
    );
    let small = I::fma(x, p, x);
    // For larger arguments −log(erfc) is nearly a parabola.
    let t = if a > 4.0 { 4.0 } else { a };
    let q = I::poly(
        t,
        [
            1.128407836e+00,
            6.364348531e-01,
            1.032930911e-01,
            -1.996035688e-02,
            6.020903820e-04,
            1.236177166e-03,
            -5.010307068e-04,
            1.042045551e-04,
            -1.198752852e-05,
            6.035393767e-07,
        ],
    );
    let (e, n, _) = exp_reduced::<I>(-(t * q));
    let large = (1.0 - (1.0 + e) * pow2(n)).copysign(x);
    if a < 0.925 { small } else { large }
}

/// Beyond this, the reduction below runs out of bits and the functions take the scalar way.
pub(super) const TRIG_LIMIT: f32 = 134_217_728.0;

/// x = q·π/2 + r with |r| ≤ π/4.
#[inline(always)]
pub(super) fn trig_reduced<I: Isa>(x: f32) -> (f64, i32) {
    const ROUND64: f64 = 6_755_399_441_055_744.0;
    let x = f64::from(x);
    let t = I::fma64(x, std::f64::consts::FRAC_2_PI, ROUND64);
    let n = t - ROUND64;
    // π/2 in two parts; the first has 25 bits, so that its product with n is exact.
    let r = I::fma64(n, -1.570_796_310_901_641_845_70, x);
    (I::fma64(n, -1.589_325_477_352_819_669_16e-8, r), t.to_bits() as i32)
}

#[inline(always)]
fn sin_cos<I: Isa>(x: f32, quarter: i32) -> f32 {
    let (r, q) = trig_reduced::<I>(x);
    let (r, q) = (r as f32, q.wrapping_add(quarter));
    let z = r * r;
    let sin =
        I::fma(r * z, I::poly(z, [-1.666666716e-01, 8.333329111e-03, -1.983933034e-04, 2.718274118e-06]), r);
    let cos =
        I::fma(z * z, I::poly(z, [4.166664556e-02, -1.388736418e-03, 2.443808262e-05]), I::fma(-0.5, z, 1.0));
    let y = if q & 1 == 0 { sin } else { cos };
    f32::from_bits(y.to_bits() ^ ((q as u32 & 2) << 30))
}

/// Sine, for |x| < `TRIG_LIMIT`.
#[inline(always)]
pub(super) fn sin<I: Isa>(x: f32) -> f32 {
    let y = sin_cos::<I>(x, 0);
    // The sum in the polynomial loses the sign of zero.
    if x == 0.0 { x } else { y }
}

/// Cosine, for |x| < `TRIG_LIMIT`.
#[inline(always)]
pub(super) fn cos<I: Isa>(x: f32) -> f32 {
    sin_cos::<I>(x, 1)
}
