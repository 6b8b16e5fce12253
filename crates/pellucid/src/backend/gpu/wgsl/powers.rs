//! Powers and remainders. Neither survives plain `f32` arithmetic: the error of a logarithm is multiplied by the
//! exponent, and a quotient beyond 2²⁴ has no fraction left. A power is computed in sums of two floats, a remainder in
//! integers. No step needs a fused multiply-add, which drivers may take apart.

/// Name and source, as in [`super::math`].
pub(super) const HELPERS: &[(&str, &str)] = &[
    // A number as the sum of two floats; the second is the rounding error of the first.
    (
        "quick_sum_",
        "struct Two_ { h: f32, l: f32 }
fn quick_sum_(a: f32, b: f32) -> Two_ {
    let s = keep_(a + b);
    return Two_(s, b - keep_(s - a));
}\n",
    ),
    // Products of halves of a mantissa are exact.
    (
        "product_",
        "fn product_(a: f32, b: f32) -> Two_ {
    let p = keep_(a * b);
    let ah = bitcast<f32>(bitcast<u32>(a) & 0xfffff000u);
    let bh = bitcast<f32>(bitcast<u32>(b) & 0xfffff000u);
    let al = keep_(a - ah);
    let bl = keep_(b - bh);
    var e = keep_(keep_(ah * bh) - p);
    e = keep_(e + ah * bl);
    e = keep_(e + al * bh);
    return Two_(p, e + al * bl);
}\n",
    ),
    // log2 of a positive finite number, good to 2^-34 of itself: with s = f / (2 + f) it is
    // 2 / ln 2 (s + s^3 / 3 + s^5 / 5 + ...), of which all that matters is kept in two floats.
    (
        "log2_two_",
        "fn log2_two_(x: f32) -> Two_ {
    let parts = log_parts_(x);
    let f = parts.f;
    let d = quick_sum_(2.0, f);
    let s = keep_(f / d.h);
    let back = product_(s, d.h);
    let sl = (keep_(keep_(f - back.h) - back.l) - s * d.l) / d.h;
    let z = product_(s, s);
    let zl = z.l + 2.0 * s * sl;
    let q = z.h * fma(z.h, fma(z.h, fma(z.h, 0.09090909, 0.11111111), 0.14285715), 0.2);
    let c = quick_sum_(0.33333334, q);
    let cl = c.l - 9.9341075e-9;
    let w = product_(z.h, c.h);
    let wl = w.l + fma(z.h, cl, zl * c.h);
    let t = product_(s, w.h);
    let tl = t.l + fma(s, wl, sl * w.h);
    let l = quick_sum_(s, t.h);
    let ll = l.l + (sl + tl);
    let k = product_(l.h, 2.88539);
    let kl = k.l + fma(l.h, 3.851926e-8, ll * 2.88539);
    let sum = quick_sum_(parts.e, k.h);
    return quick_sum_(sum.h, sum.l + kl);
}\n",
    ),
    // 2^(b log2 m) for positive finite m and finite b; rounded once, so that what a float can hold comes out exactly.
    (
        "pow_core_",
        "fn pow_core_(m: f32, b: f32) -> f32 {
    let t = log2_two_(m);
    let guess = b * t.h;
    let over = guess > 160.0;
    let under = guess < -160.0;
    let c = select(b, 0.0, over | under);
    let y = product_(c, t.h);
    let n = round(y.h);
    let r = quick_sum_(keep_(y.h - n), fma(c, t.l, y.l));
    let x = product_(r.h, 0.6931472);
    let xl = x.l + fma(r.h, -1.9046542e-9, r.l * 0.6931472);
    var q = fma(x.h, 1.395047293e-03, 8.368884213e-03);
    q = fma(x.h, q, 4.166620597e-02);
    q = fma(x.h, q, 1.666651815e-01);
    q = fma(x.h, q, 0.5);
    let s = quick_sum_(1.0, x.h);
    let e = s.h + (s.l + fma(x.h * x.h, q, xl));
    let k = i32(n);
    let half = k >> 1u;
    let v = e * pow2_(half) * pow2_(k - half);
    return select(select(v, 0.0, under), inf_(), over);
}\n",
    ),
    (
        "pow_",
        "fn pow_(a: f32, b: f32) -> f32 {
    let m = abs(a);
    let whole = trunc(b) == b;
    // Every float of 2^24 and above is even.
    let odd = whole & (abs(b) < 16777216.0) & ((i32(clamp(b, -16777216.0, 16777216.0)) & 1) != 0);
    let plain = isfin_(m) & (m > 0.0) & isfin_(b);
    var r = pow_core_(select(1.0, m, plain), select(0.0, b, plain));
    let grows = select((m > 1.0) == (b > 0.0), (m == 0.0) == (b < 0.0), (m == 0.0) | isinf_(m));
    r = select(select(0.0, inf_(), grows), r, plain);
    r = select(r, a * a, b == 2.0);
    r = select(r, 1.0, m == 1.0);
    r = select(r, -r, odd & ((bitcast<u32>(a) >> 31u) != 0u));
    r = select(r, nan_(), ((a < 0.0) & !whole & isfin_(m)) | isnan_(a) | isnan_(b));
    return select(r, 1.0, (b == 0.0) | (a == 1.0));
}\n",
    ),
    // The remainder of two numbers, exactly: the quotient's bits eight at a time, in integers, so that the number of
    // rounds is small and subnormal numbers are like any others.
    (
        "fmod_",
        "fn fmod_(a: f32, b: f32) -> f32 {
    let ab = bitcast<u32>(a) & 0x7fffffffu;
    let bb = bitcast<u32>(b) & 0x7fffffffu;
    if (ab >= 0x7f800000u || bb > 0x7f800000u || bb == 0u) { return nan_(); }
    if (ab < bb) { return a; }
    let ea = max(ab >> 23u, 1u);
    let eb = max(bb >> 23u, 1u);
    let d = (bb & 0x7fffffu) | select(0u, 0x800000u, bb >= 0x800000u);
    var r = ((ab & 0x7fffffu) | select(0u, 0x800000u, ab >= 0x800000u)) % d;
    var left = ea - eb;
    while (left > 0u && r != 0u) {
        let step = min(left, 8u);
        r = (r << step) % d;
        left = left - step;
    }
    let sign = bitcast<u32>(a) & 0x80000000u;
    // Back to a float: shifted to the place of its first bit, as far as the exponent allows.
    let shift = min(countLeadingZeros(r | 1u) - 8u, eb - 1u);
    let bits = (r << shift) + ((eb - 1u - shift) << 23u);
    return bitcast<f32>(sign | select(bits, 0u, r == 0u));
}\n",
    ),
    (
        "rem_",
        "fn rem_(a: f32, b: f32) -> f32 {
    let r = fmod_(a, b);
    return select(r, r + b, (r != 0.0) & ((r < 0.0) != (b < 0.0)));
}\n",
    ),
];
