//! Second half of the functions that WGSL lacks or has too coarsely: angles and what is built on them.

/// Name and source, as in [`super::math`].
pub(super) const HELPERS: &[(&str, &str)] = &[
    // x = q pi/2 + r.
    (
        "angle_",
        "struct Angle_ { r: f32, q: i32 }
fn angle_(x: f32) -> Angle_ {
    if (!(abs(x) < 32768.0)) { return huge_angle_(x); }
    let n = round(x * 0.6366197723675814);
    var r = keep_(fma(n, -1.5703125, x));
    r = keep_(fma(n, -4.837512969970703e-4, r));
    r = keep_(fma(n, -7.549773389749e-8, r));
    r = fma(n, -5.126688e-12, r);
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
    let v = high + log1p_(exp_(low - high));
    return select(select(v, high, isinf_(high) | isinf_(low)), nan_(), isnan_(a) | isnan_(b));
}\n",
    ),
    (
        "pow_",
        "fn pow_(a: f32, b: f32) -> f32 {
    if (b == 0.0 || a == 1.0) { return 1.0; }
    if (isnan_(a) || isnan_(b)) { return nan_(); }
    let m = abs(a);
    let whole = trunc(b) == b;
    let odd = whole && abs(b) < 16777216.0 && (i32(clamp(b, -16777216.0, 16777216.0)) & 1) != 0;
    if (isinf_(b)) {
        if (m == 1.0) { return 1.0; }
        return select(0.0, inf_(), (m > 1.0) == (b > 0.0));
    }
    var r: f32;
    if (m == 0.0 || isinf_(m)) {
        r = select(0.0, inf_(), (m == 0.0) == (b < 0.0));
    } else {
        if (a < 0.0 && !whole) { return nan_(); }
        if (whole && abs(b) <= 32.0) {
            var base = m;
            var left = u32(abs(b));
            r = 1.0;
            while (left != 0u) {
                if ((left & 1u) != 0u) { r = r * base; }
                base = base * base;
                left = left >> 1u;
            }
            if (b < 0.0) { r = 1.0 / r; }
        } else {
            // The exponent's logarithm in two parts, so that its error is not multiplied by b.
            let s = log_parts_(m);
            let z = s.f * s.f;
            let tail = fma(-0.5, z, s.f * z * log_poly_(s.f));
            let l = keep_(s.f + tail);
            let lost = tail - (l - s.f);
            let k = b * s.e;
            let n = round(k);
            let rest = fma(b, s.e, -n);
            let g0 = keep_(b * l);
            let error = fma(b, l, -g0) + b * lost;
            let t = keep_(fma(rest, 0.693359375, g0));
            let back = fma(rest, 0.693359375, g0 - t) + fma(rest, -2.1219444005469058e-4, error);
            let y = expr_(clamp(t, -250.0, 250.0));
            let e = (1.0 + y.e) * (1.0 + back);
            let total = clamp(n + f32(y.n), -300.0, 300.0);
            let q = i32(total);
            let h = clamp(q >> 1u, -126, 127);
            let g = clamp(q - h, -126, 127);
            r = e * pow2_(h) * pow2_(g) * select(1.0, pow2_(max(q - h - g, -126)), q - h - g < 0);
        }
    }
    return select(r, -r, odd && (bitcast<u32>(a) >> 31u) != 0u);
}\n",
    ),
    // The remainder of two finite numbers, exactly, by long division.
    (
        "fmod_",
        "fn fmod_(a: f32, b: f32) -> f32 {
    if (isnan_(a) || isnan_(b) || isinf_(a) || b == 0.0) { return nan_(); }
    if (isinf_(b)) { return a; }
    let d = abs(b);
    var r = abs(a);
    loop {
        if (r < d) { break; }
        let er = i32(bitcast<u32>(r) >> 23u);
        let ed = i32(bitcast<u32>(d) >> 23u);
        var s = d;
        if (er > ed && ed > 0) {
            s = bitcast<f32>(bitcast<u32>(d) + (u32(er - ed) << 23u));
            if (s > r) { s = 0.5 * s; }
        } else if (ed == 0) {
            loop {
                if (s + s > r) { break; }
                s = s + s;
            }
        }
        r = r - s;
    }
    return copysign_(r, a);
}\n",
    ),
    (
        "rem_",
        "fn rem_(a: f32, b: f32) -> f32 {
    let r = fmod_(a, b);
    if (r != 0.0 && (r < 0.0) != (b < 0.0)) { return r + b; }
    return r;
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
