//! Functions of `f32` computed in `f64` arithmetic, without branches: half as many per vector as in `f32`, but the
//! conversion back hides every intermediate error, so the results are correctly rounded nearly always.

#![allow(clippy::excessive_precision, reason = "coefficients are written as they were fitted")]

use std::f64::consts::{FRAC_PI_2, LN_2, LOG2_E, LOG10_E, PI};

use super::isa::Isa;
use super::math::trig_reduced;

/// e^x for any x whose result is used as `f32`; good to 1e−15.
#[inline(always)]
fn exp64<I: Isa>(x: f64) -> f64 {
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let x = if x > 708.0 { 708.0 } else { x };
    let x = if x < -708.0 { -708.0 } else { x };
    let t = I::fma64(x, LOG2_E, ROUND);
    let n = t - ROUND;
    let r = I::fma64(n, -6.931_471_803_691_238_164_90e-1, x);
    let r = I::fma64(n, -1.908_214_929_270_587_700_02e-10, r);
    let p = I::poly64(
        r,
        [
            1.0,
            1.0000000000000069,
            0.5000000000000031,
            0.16666666666553812,
            0.04166666666640147,
            0.00833333338587517,
            0.0013888888972511562,
            0.00019841170007654023,
            2.4801466262434683e-05,
            2.7640290045086076e-06,
            2.7639041223660146e-07,
        ],
    );
    p * f64::from_bits(t.to_bits().wrapping_add(1023) << 52)
}

/// log(x) for x = 0, normal or infinite; NaN below zero.
#[inline(always)]
fn log64<I: Isa>(x: f64) -> f64 {
    let bits = x.to_bits();
    // The exponent as a float: its bits in the mantissa of 2^52.
    let e = f64::from_bits((bits >> 52) | 0x4330_0000_0000_0000) - (4_503_599_627_370_496.0 + 1023.0);
    let m = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000);
    let upper = m > std::f64::consts::SQRT_2;
    let e = if upper { e + 1.0 } else { e };
    let f = (if upper { 0.5 * m } else { m }) - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let p = I::poly64(
        z,
        [
            0.6666666666666736,
            0.3999999999940337,
            0.2857142874510025,
            0.22222198279208857,
            0.18183580187303905,
            0.1531363405158765,
            0.14800194730915955,
        ],
    );
    let r = I::fma64(e, LN_2, I::fma64(s * z, p, 2.0 * s));
    let r = if x == f64::INFINITY { x } else { r };
    let edge = if x == 0.0 { f64::NEG_INFINITY } else { f64::NAN };
    if x > 0.0 { r } else { edge }
}

/// log(1 + y), relative accuracy kept for tiny y.
#[inline(always)]
fn log1p64<I: Isa>(y: f64) -> f64 {
    let u = 1.0 + y;
    // What the sum above lost; for large y it lost nothing that matters.
    let lost = if y.abs() < 1e9 { y - (u - 1.0) } else { 0.0 };
    let fix = if u > 0.0 { lost / u } else { 0.0 };
    log64::<I>(u) + fix
}

#[inline(always)]
pub(super) fn log2<I: Isa>(x: f32) -> f32 {
    (log64::<I>(f64::from(x)) * LOG2_E) as f32
}

#[inline(always)]
pub(super) fn log10<I: Isa>(x: f32) -> f32 {
    (log64::<I>(f64::from(x)) * LOG10_E) as f32
}

#[inline(always)]
pub(super) fn log1p<I: Isa>(x: f32) -> f32 {
    let y = log1p64::<I>(f64::from(x)) as f32;
    if x == 0.0 { x } else { y }
}

/// Tangent, for |x| < `TRIG_LIMIT`.
#[inline(always)]
pub(super) fn tan<I: Isa>(x: f32) -> f32 {
    let (r, q) = trig_reduced::<I>(x);
    let z = r * r;
    let sin = r * I::poly64(
        z,
        [
            0.9999999999999957,
            -0.16666666666616486,
            0.008333333323846998,
            -0.00019841263281807864,
            2.755526836909441e-06,
            -2.4756300959515488e-08,
        ],
    );
    let cos = I::poly64(
        z,
        [
            0.9999999999999442,
            -0.4999999999934864,
            0.04166666654352006,
            -0.0013888880372853176,
            2.4798924292272665e-05,
            -2.717310243592353e-07,
        ],
    );
    let odd = q & 1 != 0;
    let top = if odd { -cos } else { sin };
    let bottom = if odd { sin } else { cos };
    (top / bottom) as f32
}

#[inline(always)]
pub(super) fn sinh<I: Isa>(x: f32) -> f32 {
    let a = f64::from(x.abs());
    let small = a * I::poly64(
        a * a,
        [
            0.9999999999999203,
            0.1666666666724027,
            0.00833333326647018,
            0.00019841298338342707,
            2.7551832430188984e-06,
            2.5538302111022637e-08,
        ],
    );
    let e = exp64::<I>(a);
    let large = 0.5 * (e - 1.0 / e);
    ((if a < 1.0 { small } else { large }) as f32).copysign(x)
}

#[inline(always)]
pub(super) fn cosh<I: Isa>(x: f32) -> f32 {
    let e = exp64::<I>(f64::from(x));
    (0.5 * (e + 1.0 / e)) as f32
}

/// arcsin for 0 ≤ a ≤ 1; NaN beyond.
#[inline(always)]
fn arcsin64<I: Isa>(a: f64) -> f64 {
    let large = a > 0.5;
    let z = if large { 0.5 * (1.0 - a) } else { a * a };
    let s = if large { z.sqrt() } else { a };
    let p = s * I::poly64(
        z,
        [
            0.9999999999999423,
            0.16666666671178393,
            0.074999994187319,
            0.044643147021403734,
            0.030374631388993843,
            0.022477444536220897,
            0.01643996724933274,
            0.01876844703829526,
            -0.0031341104288179888,
            0.03219133428327952,
        ],
    );
    if large { FRAC_PI_2 - 2.0 * p } else { p }
}

#[inline(always)]
pub(super) fn arcsin<I: Isa>(x: f32) -> f32 {
    (arcsin64::<I>(f64::from(x.abs())) as f32).copysign(x)
}

#[inline(always)]
pub(super) fn arccos<I: Isa>(x: f32) -> f32 {
    let a = arcsin64::<I>(f64::from(x.abs()));
    (FRAC_PI_2 - if x < 0.0 { -a } else { a }) as f32
}

/// arctan(low / high) for 0 ≤ low ≤ high.
#[inline(always)]
fn arctan_ratio<I: Isa>(low: f64, high: f64) -> f64 {
    let t = low / high;
    // 0 / 0 and ∞ / ∞ are the corners of the square, where the angle is that of (0, x) and of the diagonal.
    let t = if high == 0.0 { 0.0 } else { t };
    let t = if low == f64::INFINITY { 1.0 } else { t };
    t * I::poly64(
        t * t,
        [
            0.9999999999916286,
            -0.33333333033546325,
            0.1999998218828603,
            -0.14285296733108696,
            0.11105986324790335,
            -0.09053015147962853,
            0.07509002534612005,
            -0.06054619342279242,
            0.04415730593667336,
            -0.026537635553240718,
            0.011778753611952257,
            -0.0033286940982966513,
            0.00044136560918412544,
        ],
    )
}

#[inline(always)]
pub(super) fn arctan<I: Isa>(x: f32) -> f32 {
    let a = f64::from(x.abs());
    let steep = a > 1.0;
    let r = arctan_ratio::<I>(if steep { 1.0 } else { a }, if steep { a } else { 1.0 });
    ((if steep { FRAC_PI_2 - r } else { r }) as f32).copysign(x)
}

/// The angle of the point (x, y).
#[inline(always)]
pub(super) fn arctan2<I: Isa>(y: f32, x: f32) -> f32 {
    let (ay, ax) = (f64::from(y.abs()), f64::from(x.abs()));
    let steep = ay > ax;
    let r = arctan_ratio::<I>(if steep { ax } else { ay }, if steep { ay } else { ax });
    let r = if steep { FRAC_PI_2 - r } else { r };
    let r = if x.is_sign_negative() { PI - r } else { r };
    let r = if x.is_nan() | y.is_nan() { f64::NAN } else { r };
    (r as f32).copysign(y)
}

#[inline(always)]
pub(super) fn arcsinh<I: Isa>(x: f32) -> f32 {
    let a = f64::from(x.abs());
    let z = a * a;
    let r = log1p64::<I>(a + z / (1.0 + (1.0 + z).sqrt()));
    let r = if a == f64::INFINITY { a } else { r };
    (r as f32).copysign(x)
}

#[inline(always)]
pub(super) fn arccosh<I: Isa>(x: f32) -> f32 {
    let t = f64::from(x) - 1.0;
    let r = log1p64::<I>(t + (t * (t + 2.0)).sqrt());
    (if x < 1.0 { f64::NAN } else { r }) as f32
}

#[inline(always)]
pub(super) fn arctanh<I: Isa>(x: f32) -> f32 {
    let a = f64::from(x.abs());
    ((0.5 * log1p64::<I>(2.0 * a / (1.0 - a))) as f32).copysign(x)
}

/// The inverse of the error function, over −log(1 − x²).
#[inline(always)]
pub(super) fn erfinv<I: Isa>(x: f32) -> f32 {
    let d = f64::from(x);
    let w = -log64::<I>((1.0 - d) * (1.0 + d));
    let centre = I::poly64(
        w,
        [
            0.8862269260510766,
            0.2320136331826817,
            0.011549649080706091,
            -0.002336201083782456,
            -0.00012603613381835136,
            4.449998480490762e-05,
            3.3678217376744493e-06,
            -1.5301716307713048e-06,
            6.74414951772426e-08,
            2.034553502281513e-08,
            -2.931394215358907e-09,
            1.2245693583720465e-10,
        ],
    );
    let tail = I::poly64(
        w.sqrt(),
        [
            -4.0346912120632625,
            16.382382095639286,
            -23.747417374837237,
            20.246057843338438,
            -10.882072672298463,
            3.9097711737010457,
            -0.9585353175983418,
            0.15909548489879147,
            -0.017161362767124065,
            0.00108858969818437,
            -3.087912210826969e-05,
        ],
    );
    let y = (d * if w < 5.0 { centre } else { tail }) as f32;
    if x.abs() == 1.0 { x * f32::INFINITY } else { y }
}

/// log(e^a + e^b).
#[inline(always)]
pub(super) fn logaddexp<I: Isa>(a: f32, b: f32) -> f32 {
    let (a, b) = (f64::from(a), f64::from(b));
    let high = if a > b { a } else { b };
    // Equal infinities have no difference.
    let gap = if a == b { 0.0 } else { -(a - b).abs() };
    let r = (high + log1p64::<I>(exp64::<I>(gap))) as f32;
    if gap.is_nan() { f32::NAN } else { r }
}

/// a^b with the conventions of IEEE 754 for zeros, infinities and negative bases.
#[inline(always)]
pub(super) fn power<I: Isa>(a: f32, b: f32) -> f32 {
    let m = a.abs();
    let r = exp64::<I>(f64::from(b) * log64::<I>(f64::from(m))) as f32;
    let whole = b.trunc() == b;
    // Every float of 2^24 and above is even.
    let odd = whole & (b.abs() < 16_777_216.0) & ((0.5 * b).trunc() != 0.5 * b);
    let r = if (m == 1.0) & !b.is_nan() { 1.0 } else { r };
    let r = if a.is_sign_negative() & odd { -r } else { r };
    let r = if (a < 0.0) & !whole & (m != f32::INFINITY) { f32::NAN } else { r };
    if (b == 0.0) | (a == 1.0) { 1.0 } else { r }
}
