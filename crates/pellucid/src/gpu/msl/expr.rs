//! Expressions, written as WGSL: types as C has them, every conversion spelt out.

use super::emit::Emitter;
use super::tree::{Expr, Kind, Scalar, Type};
use super::types::{common, converted, literal, wgsl, wgsl_type, widened};
use super::{Fault, Given, Outcome};

/// An expression in WGSL.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub text: String,
    pub ty: Type,
    /// Its value, where it is known before anything runs.
    pub known: Option<i64>,
    /// For an element of an array of truths: what to write to, since WGSL keeps no truths in arrays.
    pub store: Option<String>,
}

impl Value {
    pub fn new(text: String, ty: Type) -> Value {
        Value { text, ty, known: None, store: None }
    }

    pub fn known(value: i64, scalar: Scalar) -> Value {
        Value { known: Some(value), ..Value::new(literal(value, scalar), Type::One(scalar)) }
    }

    /// The text of the value as another type.
    pub fn to(&self, ty: &Type, line: usize) -> Outcome<String> {
        if let (Some(known), Type::One(to)) = (self.known, ty) {
            let fits = match to {
                Scalar::I8 => i8::try_from(known).is_ok(),
                Scalar::U8 => u8::try_from(known).is_ok(),
                Scalar::I16 => i16::try_from(known).is_ok(),
                Scalar::U16 => u16::try_from(known).is_ok(),
                _ => true,
            };
            if fits {
                return Ok(literal(known, *to));
            }
        }
        match (&self.ty, ty) {
            (Type::One(from), Type::One(to)) => Ok(converted(&self.text, *from, *to)),
            (Type::One(from), Type::Vector(to, size)) => {
                Ok(format!("vec{size}<{}>({})", wgsl(*to), converted(&self.text, *from, *to)))
            }
            (Type::Vector(from, a), Type::Vector(to, b)) if a == b => Ok(match from == to {
                true => self.text.clone(),
                false => format!("vec{b}<{}>({})", wgsl(*to), self.text),
            }),
            (Type::Place(a, _), Type::Place(b, _)) if a == b => Ok(self.text.clone()),
            _ => Err(Fault::new(line, "a value of one kind stands where another is needed".to_owned())),
        }
    }

    /// An array as the place of its first element.
    pub fn as_place(&self, line: usize) -> Outcome<Value> {
        match &self.ty {
            Type::Place(..) => Ok(self.clone()),
            Type::Array(scalar, _) => {
                Ok(Value::new("0u".to_owned(), Type::Place(self.text.clone(), *scalar)))
            }
            _ => Err(Fault::new(line, "an array is needed".to_owned())),
        }
    }

    pub fn scalar(&self, line: usize) -> Outcome<Scalar> {
        match &self.ty {
            Type::One(scalar) | Type::Vector(scalar, _) => Ok(*scalar),
            Type::Void => Err(Fault::new(line, "this has no value".to_owned())),
            _ => Err(Fault::new(line, "a number is needed, not an array".to_owned())),
        }
    }
}

impl Emitter<'_> {
    /// A condition.
    pub(super) fn truth(&mut self, value: &Expr) -> Outcome<String> {
        self.value(value)?.to(&Type::One(Scalar::Bool), value.line)
    }

    /// An expression for what it does: an assignment or a call.
    pub(super) fn effect(&mut self, value: &Expr) -> Outcome<String> {
        match &value.kind {
            Kind::Assign(sign, target, given) => self.assign(sign, target, given, value.line),
            Kind::Call(..) => {
                let value = self.value(value)?;
                Ok(if value.ty == Type::Void { value.text } else { format!("_ = {}", value.text) })
            }
            _ => Ok(format!("_ = {}", self.value(value)?.text)),
        }
    }

    fn assign(&mut self, sign: &str, target: &Expr, given: &Expr, line: usize) -> Outcome<String> {
        let place = self.value(target)?;
        let changes =
            matches!(target.kind, Kind::Name(_) | Kind::Index(..) | Kind::Member(..) | Kind::Unary("*", _));
        let read_only = |name: &str| self.setting.arrays.iter().any(|a| a.name == name && !a.is_output);
        let base = match &target.kind {
            Kind::Index(base, _) | Kind::Unary("*", base) => Some(&**base),
            _ => None,
        };
        if let Some(base) = base
            && let Type::Place(name, _) = self.value(base)?.ty
            && read_only(&name)
        {
            return Err(Fault::new(line, format!("{name} is an input and cannot be written to")));
        }
        if !changes || place.known.is_some() || matches!(place.ty, Type::Array(..) | Type::Void) {
            return Err(Fault::new(line, "this cannot be assigned to".to_owned()));
        }
        let value = match sign {
            "=" => self.value(given)?,
            _ => {
                let operator = sign.trim_end_matches('=');
                let right = self.value(given)?;
                self.operated(operator, place.clone(), right, line)?
            }
        };
        let written = value.to(&place.ty, line)?;
        Ok(match &place.store {
            Some(store) => format!("{store} = select(0u, 1u, {written})"),
            None => format!("{} = {written}", place.text),
        })
    }

    /// The value of an expression.
    pub(super) fn value(&mut self, value: &Expr) -> Outcome<Value> {
        let line = value.line;
        match &value.kind {
            Kind::Whole(number, unsigned) => {
                let scalar = match (*unsigned, *number) {
                    (false, n) if n <= i32::MAX as u64 => Scalar::I32,
                    (_, n) if n <= u64::from(u32::MAX) => Scalar::U32,
                    (_, n) if n <= i64::MAX as u64 => Scalar::I64,
                    _ => return Err(Fault::new(line, format!("{number} fits no type"))),
                };
                Ok(Value::known(*number as i64, scalar))
            }
            Kind::Real(number) => {
                let number = *number as f32;
                if !number.is_finite() {
                    return Err(Fault::new(line, "the number does not fit 32 bits".to_owned()));
                }
                Ok(Value::new(format!("{number:?}f"), Type::One(Scalar::Real)))
            }
            Kind::Truth(truth) => Ok(Value::known(i64::from(*truth), Scalar::Bool)),
            Kind::Name(name) => self.named(name, line),
            Kind::Unary(sign, inner) => self.unary(sign, inner, line),
            Kind::Binary(sign @ ("&&" | "||"), a, b) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                if let (Some(a), Some(b)) = (a.known, b.known) {
                    let both = if *sign == "&&" { a != 0 && b != 0 } else { a != 0 || b != 0 };
                    return Ok(Value::known(i64::from(both), Scalar::Bool));
                }
                let truth = Type::One(Scalar::Bool);
                Ok(Value::new(format!("({} {sign} {})", a.to(&truth, line)?, b.to(&truth, line)?), truth))
            }
            Kind::Binary(sign, a, b) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                self.operated(sign, a, b, line)
            }
            Kind::Assign(..) => Err(Fault::new(
                line,
                "an assignment inside an expression is not understood; give it a line".to_owned(),
            )),
            Kind::Choice(condition, a, b) => {
                let (truth, a, b) = (self.truth(condition)?, self.value(a)?, self.value(b)?);
                let ty = self.shared_type(&a, &b, line)?;
                Ok(Value::new(format!("select({}, {}, {truth})", b.to(&ty, line)?, a.to(&ty, line)?), ty))
            }
            Kind::Index(base, index) => {
                let (base, index) = (self.value(base)?, self.value(index)?);
                self.element(&base, &index, line)
            }
            Kind::Member(base, member) => self.member(base, member, line),
            Kind::Call(name, templates, arguments) => self.call(name, templates, arguments, line),
            Kind::List(_) => {
                Err(Fault::new(line, "a list in braces is understood in declarations only".to_owned()))
            }
        }
    }

    fn named(&mut self, name: &str, line: usize) -> Outcome<Value> {
        if let Some(variable) = self.lookup(name) {
            let value = Value::new(variable.text.clone(), variable.ty.clone());
            return Ok(Value { known: variable.known, ..value });
        }
        if let Some((_, given)) = self.templates.iter().rev().find(|(known, _)| known == name) {
            match given {
                Given::Whole(value) => return Ok(Value::known(*value, Scalar::I32)),
                Given::Truth(truth) => return Ok(Value::known(i64::from(*truth), Scalar::Bool)),
                Given::Type(_) => {}
            }
        }
        self.attribute(name).ok_or_else(|| Fault::new(line, format!("{name} is not known here")))
    }

    /// What Metal tells each thread about itself, and its constants.
    fn attribute(&mut self, name: &str) -> Option<Value> {
        let [x, y, z] = self.setting.threadgroup;
        let grid = self.setting.grid;
        let three = |text: String| Some(Value::new(text, Type::Vector(Scalar::U32, 3)));
        let one = |text: String| Some(Value::new(text, Type::One(Scalar::U32)));
        let index = format!("(local.x + {x}u * (local.y + {y}u * local.z))");
        let real = |value: f32| Some(Value::new(format!("{value:?}f"), Type::One(Scalar::Real)));
        match name {
            "thread_position_in_grid" => three("id".to_owned()),
            "thread_position_in_threadgroup" => three("local".to_owned()),
            "threadgroup_position_in_grid" => three("group".to_owned()),
            "threads_per_threadgroup" | "dispatch_threads_per_threadgroup" => {
                three(format!("vec3<u32>({x}u, {y}u, {z}u)"))
            }
            "threads_per_grid" => three(format!("vec3<u32>({}u, {}u, {}u)", grid[0], grid[1], grid[2])),
            "threadgroups_per_grid" => {
                let [a, b, c] = [grid[0].div_ceil(x), grid[1].div_ceil(y), grid[2].div_ceil(z)];
                three(format!("vec3<u32>({a}u, {b}u, {c}u)"))
            }
            "thread_index_in_threadgroup" => one(index),
            // Threads go by 32 on Metal's devices; what they exchange within such a group is not translated.
            "threads_per_simdgroup" => Some(Value::known(32, Scalar::U32)),
            "thread_index_in_simdgroup" => one(format!("({index} % 32u)")),
            "simdgroup_index_in_threadgroup" => one(format!("({index} / 32u)")),
            "simdgroups_per_threadgroup" => {
                Some(Value::known(i64::from((x * y * z).div_ceil(32)), Scalar::U32))
            }
            "INFINITY" | "HUGE_VALF" => Some(self.special(0x7f80_0000)),
            "NAN" => Some(self.special(0x7fc0_0000)),
            "M_PI_F" | "M_PI" => real(std::f32::consts::PI),
            "M_PI_2_F" => real(std::f32::consts::FRAC_PI_2),
            "M_E_F" => real(std::f32::consts::E),
            "M_SQRT2_F" => real(std::f32::consts::SQRT_2),
            "M_1_PI_F" => real(std::f32::consts::FRAC_1_PI),
            "M_LN2_F" => real(std::f32::consts::LN_2),
            "FLT_MAX" | "MAXFLOAT" => real(f32::MAX),
            "FLT_MIN" => real(f32::MIN_POSITIVE),
            "FLT_EPSILON" => real(f32::EPSILON),
            "INT_MAX" => Some(Value::known(i64::from(i32::MAX), Scalar::I32)),
            "INT_MIN" => Some(Value::known(i64::from(i32::MIN), Scalar::I32)),
            "UINT_MAX" => Some(Value::known(i64::from(u32::MAX), Scalar::U32)),
            _ => None,
        }
    }

    /// A float that WGSL has no way to write, by its bits: a variable, since constants may not be infinite.
    pub(super) fn special(&mut self, bits: u32) -> Value {
        let name = format!("bits_{bits:x}");
        if !self.header.contains(&name) {
            self.header.push_str(&format!("var<private> {name}: u32 = {bits}u;\n"));
        }
        Value::new(format!("bitcast<f32>({name})"), Type::One(Scalar::Real))
    }

    fn unary(&mut self, sign: &str, inner: &Expr, line: usize) -> Outcome<Value> {
        if sign == "&" {
            let Kind::Index(base, index) = &inner.kind else {
                return Err(Fault::new(line, "only elements of arrays have an address here".to_owned()));
            };
            let (base, index) = (self.value(base)?, self.value(index)?);
            return self.operated("+", base, index, line);
        }
        let value = self.value(inner)?;
        if sign == "*" {
            return self.element(&value, &Value::known(0, Scalar::U32), line);
        }
        if sign == "!" {
            if let Some(known) = value.known {
                return Ok(Value::known(i64::from(known == 0), Scalar::Bool));
            }
            let truth = Type::One(Scalar::Bool);
            return Ok(Value::new(format!("!({})", value.to(&truth, line)?), truth));
        }
        let scalar = widened(value.scalar(line)?);
        if let (Some(known), "-", Scalar::I32 | Scalar::I64) = (value.known, sign, scalar) {
            return Ok(Value::known(-known, scalar));
        }
        let ty = match value.ty {
            Type::Vector(_, size) => Type::Vector(scalar, size),
            _ => Type::One(scalar),
        };
        let text = value.to(&ty, line)?;
        let text = match sign {
            "+" => text,
            "-" if matches!(scalar, Scalar::U32 | Scalar::U64) => format!("({}() - {text})", wgsl_type(&ty)),
            "~" if scalar == Scalar::Real => return Err(Fault::new(line, "~ is for integers".to_owned())),
            _ => format!("({sign}({text}))"),
        };
        Ok(Value::new(text, ty))
    }

    /// The type of two values together.
    pub(super) fn shared_type(&self, a: &Value, b: &Value, line: usize) -> Outcome<Type> {
        let scalar = match (a.scalar(line)?, b.scalar(line)?) {
            (Scalar::Bool, Scalar::Bool) => Scalar::Bool,
            (a, b) => common(a, b),
        };
        match (&a.ty, &b.ty) {
            (Type::Vector(_, n), Type::Vector(_, m)) if n != m => {
                Err(Fault::new(line, format!("vectors of {n} and {m} elements do not go together")))
            }
            (Type::Vector(_, n), _) | (_, Type::Vector(_, n)) => Ok(Type::Vector(scalar, *n)),
            _ => Ok(Type::One(scalar)),
        }
    }

    /// An operator of two sides.
    pub(super) fn operated(&mut self, sign: &str, a: Value, b: Value, line: usize) -> Outcome<Value> {
        let is_place = |value: &Value| matches!(value.ty, Type::Place(..) | Type::Array(..));
        if is_place(&a) || is_place(&b) {
            return moved(sign, &a, &b, line);
        }
        let compares = matches!(sign, "==" | "!=" | "<" | ">" | "<=" | ">=");
        let shifts = matches!(sign, "<<" | ">>");
        let mut ty = self.shared_type(&a, &b, line)?;
        if shifts {
            ty = Type::One(widened(a.scalar(line)?));
        }
        if let Type::One(Scalar::Bool) = ty
            && !(compares && matches!(sign, "==" | "!=") || matches!(sign, "&" | "|" | "^"))
        {
            ty = Type::One(Scalar::I32);
        }
        if let (Type::One(scalar @ (Scalar::I32 | Scalar::U32 | Scalar::Bool)), Some(x), Some(y)) =
            (&ty, a.known, b.known)
            && let Some(known) = folded(sign, x, y, *scalar)
        {
            return Ok(if compares {
                Value::known(known, Scalar::Bool)
            } else {
                Value::known(known, *scalar)
            });
        }
        let scalar = match &ty {
            Type::One(scalar) | Type::Vector(scalar, _) => *scalar,
            _ => Scalar::Real,
        };
        if scalar == Scalar::Real && (shifts || matches!(sign, "%" | "&" | "|" | "^")) {
            return Err(Fault::new(line, format!("{sign} is for integers")));
        }
        if compares && matches!(ty, Type::Vector(..)) {
            return Err(Fault::new(
                line,
                "comparisons of vectors are not understood; compare their elements".to_owned(),
            ));
        }
        let left = a.to(&ty, line)?;
        let right = if shifts { b.to(&Type::One(Scalar::U32), line)? } else { b.to(&ty, line)? };
        let text = match (sign, scalar) {
            ("^", Scalar::Bool) => format!("({left} != {right})"),
            _ => format!("({left} {sign} {right})"),
        };
        Ok(Value::new(text, if compares { Type::One(Scalar::Bool) } else { ty }))
    }

    /// An element of an array or a vector.
    fn element(&mut self, base: &Value, index: &Value, line: usize) -> Outcome<Value> {
        let index = index.to(&Type::One(Scalar::U32), line)?;
        match &base.ty {
            Type::Place(array, scalar) => {
                let at = if base.text == "0u" { index } else { format!("({} + {index})", base.text) };
                let text = format!("{array}[{at}]");
                let outer = self.setting.arrays.iter().any(|seen| seen.name == array);
                Ok(match outer && *scalar == Scalar::Bool {
                    true => {
                        let read = Value::new(format!("({text} != 0u)"), Type::One(Scalar::Bool));
                        Value { store: Some(text), ..read }
                    }
                    false => Value::new(text, Type::One(*scalar)),
                })
            }
            Type::Array(scalar, _) | Type::Vector(scalar, _) => {
                Ok(Value::new(format!("{}[{index}]", base.text), Type::One(*scalar)))
            }
            _ => {
                Err(Fault::new(line, "an array of no axes is a single value; it has no elements".to_owned()))
            }
        }
    }

    fn member(&mut self, base: &Expr, member: &str, line: usize) -> Outcome<Value> {
        let base = self.value(base)?;
        let Type::Vector(scalar, size) = base.ty else {
            return Err(Fault::new(line, format!("only vectors have a member {member}")));
        };
        let known =
            |letters: &str| member.chars().all(|c| letters.chars().take(usize::from(size)).any(|k| k == c));
        if !(1..=4).contains(&member.len()) || !(known("xyzw") || known("rgba")) {
            return Err(Fault::new(line, format!("a vector of {size} has no member {member}")));
        }
        let ty = match member.len() {
            1 => Type::One(scalar),
            n => Type::Vector(scalar, n as u8),
        };
        Ok(Value::new(format!("{}.{member}", base.text), ty))
    }
}

/// A place in an array, some elements on or back.
fn moved(sign: &str, a: &Value, b: &Value, line: usize) -> Outcome<Value> {
    let (place, by) = match (&a.ty, &b.ty) {
        (Type::Place(..) | Type::Array(..), Type::One(_)) if sign == "+" || sign == "-" => {
            (a.as_place(line)?, b)
        }
        (Type::One(_), Type::Place(..) | Type::Array(..)) if sign == "+" => (b.as_place(line)?, a),
        _ => return Err(Fault::new(line, format!("{sign} does not go with arrays"))),
    };
    let by = by.to(&Type::One(Scalar::U32), line)?;
    let text = match (place.text.as_str(), sign) {
        ("0u", "+") => by,
        (at, _) => format!("({at} {sign} {by})"),
    };
    Ok(Value::new(text, place.ty))
}

/// The result of an operator on numbers that are known, where it is certain.
fn folded(sign: &str, a: i64, b: i64, scalar: Scalar) -> Option<i64> {
    let value = match sign {
        "+" => a.checked_add(b)?,
        "-" => a.checked_sub(b)?,
        "*" => a.checked_mul(b)?,
        "/" => a.checked_div(b)?,
        "%" => a.checked_rem(b)?,
        "<<" => a.checked_shl(u32::try_from(b).ok().filter(|b| *b < 32)?)?,
        ">>" => a.checked_shr(u32::try_from(b).ok().filter(|b| *b < 32)?)?,
        "&" => a & b,
        "|" => a | b,
        "^" => a ^ b,
        "==" => i64::from(a == b),
        "!=" => i64::from(a != b),
        "<" => i64::from(a < b),
        ">" => i64::from(a > b),
        "<=" => i64::from(a <= b),
        ">=" => i64::from(a >= b),
        _ => return None,
    };
    let fits = match scalar {
        Scalar::U32 => u32::try_from(value).is_ok(),
        _ => i32::try_from(value).is_ok(),
    };
    fits.then_some(value)
}
