//! Second half of the functions that WGSL lacks or has too coarsely: angles and what is built on them.

/// Name and source, as in [`super::math`].
pub(super) const HELPERS: &[(&str, &str)] = &[
    // x = q pi/2 + r. The parts of pi/2 have nine bits and n fifteen, so that products are exact; next to a multiple,
    // where the differences cancel, they are exact as well.
    (
        "angle_",
        "struct Angle_ { r: f32, q: i32 }
fn angle_(x: f32) -> Angle_ {
    if (!(abs(x) < 32768.0)) { return huge_angle_(x); }
    let n = round(x * 0.6366197723675814);
    var r = keep_(fma(n, -1.5703125, x));
    r = keep_(fma(n, -4.8351287841796875e-4, r));
    r = keep_(fma(n, -3.1385570764541626e-7, r));
    r = keep_(fma(n, -6.070877134334296e-11, r));
    r = fma(n, -6.223372e-14, r);
    return Angle_(r, i32(n));
}\n",
    ),
    (
        "quarter_",
        "fn quarter_(r: f32, q: i32) -> f32 {
    let z = r * r;
    var s = fma(z, 2.718274118e-06, -1.983933034e-04);
    s = fma(z, s, 8.333329111e-03);
    s = fma(z, s, -1.666666716e-01);
    s = fma(r * z, s, r);
    var c = fma(z, 2.443808262e-05, -1.388736418e-03);
    c = fma(z, c, 4.166664556e-02);
    c = fma(z * z, c, fma(-0.5, z, 1.0));
    let y = select(c, s, (q & 1) == 0);
    return bitcast<f32>(bitcast<u32>(y) ^ ((u32(q) & 2u) << 30u));
}\n",
    ),
    (
        "sin_",
        "fn sin_(x: f32) -> f32 {
    if (!isfin_(x)) { return nan_(); }
    if (x == 0.0) { return x; }
    let a = angle_(x);
    return quarter_(a.r, a.q);
}\n",
    ),
    (
        "cos_",
        "fn cos_(x: f32) -> f32 {
    if (!isfin_(x)) { return nan_(); }
    let a = angle_(x);
    return quarter_(a.r, a.q + 1);
}\n",
    ),
    (
        "tan_",
        "fn tan_(x: f32) -> f32 {
    if (!isfin_(x)) { return nan_(); }
    if (x == 0.0) { return x; }
    let a = angle_(x);
    return quarter_(a.r, a.q) / quarter_(a.r, a.q + 1);
}\n",
    ),
    (
        "atan_",
        "fn atan_(x: f32) -> f32 {
    let a = abs(x);
    let large = a > 2.414213562373095;
    let middle = a > 0.4142135623730950;
    let top = select(select(a, a - 1.0, middle), -1.0, large);
    let t = top / select(select(1.0, a + 1.0, middle), a, large);
    let z = t * t;
    var p = fma(z, 8.05374449538e-2, -1.38776856032e-1);
    p = fma(z, p, 1.99777106478e-1);
    p = fma(z, p, -3.33329491539e-1);
    let y = select(select(0.0, 0.7853981633974483, middle), 1.5707963267948966, large);
    return select(copysign_(y + fma(p * z, t, t), x), x, isnan_(x));
}\n",
    ),
    (
        "atan2_",
        "fn atan2_(y: f32, x: f32) -> f32 {
    if (isnan_(x) || isnan_(y)) { return nan_(); }
    let ax = abs(x);
    let ay = abs(y);
    var a: f32;
    if (isinf_(x) && isinf_(y)) {
        a = 0.7853981633974483;
    } else if (ax == 0.0 && ay == 0.0) {
        a = 0.0;
    } else if (ay > ax) {
        a = 1.5707963267948966 - atan_(ax / ay);
    } else {
        a = atan_(ay / ax);
    }
    if ((bitcast<u32>(x) & 0x80000000u) != 0u) { a = 3.141592653589793 - a; }
    return copysign_(a, y);
}\n",
    ),
    (
        "asin_core_",
        "fn asin_core_(a: f32) -> f32 {
    let z = a * a;
    var p = fma(z, 4.2163199048e-2, 2.4181311049e-2);
    p = fma(z, p, 4.5470025998e-2);
    p = fma(z, p, 7.4953002686e-2);
    p = fma(z, p, 1.6666752422e-1);
    return fma(p * z, a, a);
}\n",
    ),
    (
        "asin_",
        "fn asin_(x: f32) -> f32 {
    let a = abs(x);
    let c = asin_core_(select(a, sqrt(0.5 * (1.0 - a)), a > 0.5));
    let v = select(c, 1.5707963267948966 - 2.0 * c, a > 0.5);
    return select(nan_(), copysign_(v, x), a <= 1.0);
}\n",
    ),
    (
        "acos_",
        "fn acos_(x: f32) -> f32 {
    let a = abs(x);
    let c = asin_core_(select(a, sqrt(0.5 * (1.0 - a)), a > 0.5));
    let large = select(3.141592653589793 - 2.0 * c, 2.0 * c, x > 0.0);
    return select(nan_(), select(1.5707963267948966 - copysign_(c, x), large, a > 0.5), a <= 1.0);
}\n",
    ),
    (
        "sinh_",
        "fn sinh_(x: f32) -> f32 {
    let a = abs(x);
    if (isnan_(x) || a == 0.0) { return x; }
    if (a > 88.0) {
        let h = exp_(0.5 * a);
        return copysign_(0.5 * h * h, x);
    }
    let e = expm1_(a);
    return copysign_(0.5 * (e + e / (e + 1.0)), x);
}\n",
    ),
    (
        "cosh_",
        "fn cosh_(x: f32) -> f32 {
    let a = abs(x);
    if (a > 88.0) {
        let h = exp_(0.5 * a);
        return 0.5 * h * h;
    }
    let e = exp_(a);
    return 0.5 * (e + 1.0 / e);
}\n",
    ),
    (
        "asinh_",
        "fn asinh_(x: f32) -> f32 {
    let a = abs(x);
    if (isnan_(x) || a == 0.0 || isinf_(x)) { return x; }
    if (a > 1e10) { return copysign_(log_(a) + 0.6931471805599453, x); }
    return copysign_(log1p_(a + a * a / (1.0 + sqrt(a * a + 1.0))), x);
}\n",
    ),
    (
        "acosh_",
        "fn acosh_(x: f32) -> f32 {
    if (!(x >= 1.0)) { return nan_(); }
    if (x > 1e10) { return log_(x) + 0.6931471805599453; }
    let t = x - 1.0;
    return log1p_(t + sqrt(2.0 * t + t * t));
}\n",
    ),
    (
        "atanh_",
        "fn atanh_(x: f32) -> f32 {
    let a = abs(x);
    if (a == 0.0 || isnan_(x)) { return x; }
    if (a > 1.0) { return nan_(); }
    if (a == 1.0) { return copysign_(inf_(), x); }
    return copysign_(0.5 * log1p_(2.0 * a / (1.0 - a)), x);
}\n",
    ),
    (
        "logaddexp_",
        "fn logaddexp_(a: f32, b: f32) -> f32 {
    let high = max(a, b);
    let low = min(a, b);
    // What the difference loses to rounding counts as a factor of the exponential.
    let d = keep_(low - high);
    let t = keep_(d - low);
    let lost = keep_(low - keep_(d - t)) - keep_(high + t);
    let e = exp_(d);
    let v = high + log1p_(fma(e, select(0.0, lost, isfin_(lost)), e));
    return select(select(v, high, isinf_(high)), nan_(), isnan_(a) | isnan_(b));
}\n",
    ),
    ("max_", "fn max_(a: f32, b: f32) -> f32 { return select(b, a, (a > b) | isnan_(a)); }\n"),
    ("min_", "fn min_(a: f32, b: f32) -> f32 { return select(b, a, (a < b) | isnan_(a)); }\n"),
    ("sign_", "fn sign_(x: f32) -> f32 { return select(0.0, 1.0, x > 0.0) - select(0.0, 1.0, x < 0.0); }\n"),
    (
        "cmul_",
        "fn cmul_(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    return vec2<f32>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}\n",
    ),
    (
        "cless_",
        "fn cless_(a: vec2<f32>, b: vec2<f32>) -> bool { return a.x < b.x || (a.x == b.x && a.y < b.y); }\n",
    ),
    ("cnan_", "fn cnan_(a: vec2<f32>) -> bool { return isnan_(a.x) || isnan_(a.y); }\n"),
    (
        "cmax_",
        "fn cmax_(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    if (cnan_(a)) { return a; }
    return select(a, b, cnan_(b) || cless_(a, b));
}\n",
    ),
    (
        "cmin_",
        "fn cmin_(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    if (cnan_(a)) { return a; }
    return select(a, b, cnan_(b) || cless_(b, a));
}\n",
    ),
    (
        "cabs_",
        "fn cabs_(a: vec2<f32>) -> f32 {
    let x = abs(a.x);
    let y = abs(a.y);
    if (isinf_(x) || isinf_(y)) { return inf_(); }
    let high = max_(x, y);
    if (!(high > 0.0)) { return high; }
    let s = pow2_(clamp(126 - i32(bitcast<u32>(high) >> 23u), -126, 126));
    return sqrt((x * s) * (x * s) + (y * s) * (y * s)) / s;
}\n",
    ),
];
