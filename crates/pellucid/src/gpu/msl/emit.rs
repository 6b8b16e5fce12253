//! Statements, written as WGSL.

use std::collections::HashMap;
use std::fmt::Write;

use super::expr::Value;
use super::tree::{Act, Declared, Expr, Function, Scalar, Statement, Type, TypeName};
use super::types::{literal, named, wgsl, wgsl_type};
use super::{Fault, Given, Outcome, Seen, Translated};

/// What a call gives the text: arrays, names of templates, and where it is launched.
#[derive(Clone, Debug)]
pub(in crate::gpu) struct Setting<'a> {
    pub arrays: Vec<Seen<'a>>,
    pub templates: Vec<(String, Given)>,
    pub grid: [u32; 3],
    pub threadgroup: [u32; 3],
    /// Source and header, to see what they mention.
    pub text: String,
}

/// A variable in scope.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub text: String,
    pub ty: Type,
    /// Its value, where it is known before anything runs.
    pub known: Option<i64>,
}

pub(super) struct Emitter<'a> {
    pub setting: &'a Setting<'a>,
    pub functions: &'a [Function],
    pub scopes: Vec<HashMap<String, Variable>>,
    /// Names of templates in the function that is being written.
    pub templates: Vec<(String, Given)>,
    /// Declarations and functions before the kernel.
    pub header: String,
    /// Functions that are written already, by name and types: what they are called, and what they return.
    pub made: HashMap<(String, Vec<Type>), (String, Type)>,
    /// Functions that are being written.
    pub open: Vec<String>,
    /// What the function that is being written returns.
    pub result: Type,
    pub count: usize,
    pub has_barrier: bool,
}

/// Writes a kernel.
pub(super) fn kernel(
    setting: &Setting,
    functions: &[Function],
    constants: &[Statement],
    body: &[Statement],
) -> Outcome<Translated> {
    let mut emitter = Emitter {
        setting,
        functions,
        scopes: vec![HashMap::new()],
        templates: setting.templates.clone(),
        header: String::new(),
        made: HashMap::new(),
        open: Vec::new(),
        result: Type::Void,
        count: 0,
        has_barrier: false,
    };
    emitter.arrays();
    emitter.constants(constants).map_err(|fault| Fault { in_header: true, ..fault })?;
    let mut text = String::new();
    emitter.guard(&mut text);
    emitter.scopes.push(HashMap::new());
    emitter.statements(body, &mut text, 0)?;
    let whole = setting.grid.iter().zip(setting.threadgroup).all(|(all, group)| all % group == 0);
    if emitter.has_barrier && !whole {
        let message = format!(
            "a barrier needs whole threadgroups, and a grid of {:?} is not a multiple of {:?}",
            setting.grid, setting.threadgroup
        );
        return Err(Fault::new(1, message));
    }
    Ok(Translated { header: emitter.header, body: text })
}

impl Emitter<'_> {
    /// The arrays, and what the text may ask about them.
    fn arrays(&mut self) {
        for array in &self.setting.arrays {
            let place = Type::Place(array.name.to_owned(), array.element);
            let alone = array.shape.is_empty() && !array.is_output;
            let (text, ty) = match alone {
                true => {
                    let element = format!("{}[0u]", array.name);
                    let text =
                        if array.element == Scalar::Bool { format!("({element} != 0u)") } else { element };
                    (text, Type::One(array.element))
                }
                false => ("0u".to_owned(), place),
            };
            self.scopes[0].insert(array.name.to_owned(), Variable { text, ty, known: None });
            let rank = array.shape.len();
            let known = Variable {
                text: literal(rank as i64, Scalar::I32),
                ty: Type::One(Scalar::I32),
                known: Some(rank as i64),
            };
            self.scopes[0].insert(format!("{}_ndim", array.name), known);
            if rank > 0 {
                let mut steps = vec![1usize; rank];
                for axis in (0..rank - 1).rev() {
                    steps[axis] = steps[axis + 1] * array.shape[axis + 1];
                }
                for (what, values) in [("shape", array.shape), ("strides", &steps[..])] {
                    if !self.setting.text.contains(&format!("{}_{what}", array.name)) {
                        continue;
                    }
                    let text = format!("{}_{}", array.name, if what == "shape" { "sizes" } else { "steps" });
                    let ty = Type::Array(Scalar::I32, rank as u64);
                    let listed: Vec<String> =
                        values.iter().map(|v| literal(*v as i64, Scalar::I32)).collect();
                    let (wide, listed) = (wgsl_type(&ty), listed.join(", "));
                    let _ = writeln!(self.header, "var<private> {text}: {wide} = {wide}({listed});");
                    let variable = Variable { text, ty, known: None };
                    self.scopes[0].insert(format!("{}_{what}", array.name), variable);
                }
            }
        }
    }

    /// Invocations beyond the grid do nothing.
    fn guard(&self, text: &mut String) {
        let (grid, group) = (self.setting.grid, self.setting.threadgroup);
        let beyond: Vec<String> = ["x", "y", "z"]
            .iter()
            .enumerate()
            .filter(|(i, _)| grid[*i] % group[*i] != 0)
            .map(|(i, axis)| format!("id.{axis} >= {}u", grid[i]))
            .collect();
        if !beyond.is_empty() {
            let _ = writeln!(text, "if ({}) {{ return; }}", beyond.join(" || "));
        }
    }

    fn constants(&mut self, constants: &[Statement]) -> Outcome<()> {
        for statement in constants {
            let Act::Declare(ty, declared) = &statement.kind else { continue };
            for one in declared {
                let mut lines = String::new();
                self.declare(ty, one, statement.line, &mut lines, true)?;
                self.header.push_str(&lines);
            }
        }
        Ok(())
    }

    pub(super) fn lookup(&self, name: &str) -> Option<&Variable> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    /// A type the text names, where template names are known.
    pub(super) fn resolved(&self, name: &str, line: usize) -> Outcome<Type> {
        let given = self.templates.iter().rev().find(|(known, _)| known == name);
        if let Some((_, Given::Type(scalar))) = given {
            return Ok(Type::One(*scalar));
        }
        named(name).ok_or_else(|| Fault::new(line, format!("{name} is not a type that is known here")))
    }

    pub(super) fn fresh(&mut self, name: &str) -> String {
        self.count += 1;
        format!("v{}_{name}", self.count)
    }

    pub(super) fn statements(&mut self, all: &[Statement], text: &mut String, depth: usize) -> Outcome<()> {
        for statement in all {
            self.statement(statement, text, depth)?;
            if matches!(statement.kind, Act::Return(_) | Act::Break | Act::Continue) {
                break;
            }
        }
        Ok(())
    }

    /// Statements in a scope of their own, in braces.
    fn inner(&mut self, statement: &Statement, text: &mut String, depth: usize) -> Outcome<()> {
        self.scopes.push(HashMap::new());
        let one = std::slice::from_ref(statement);
        let all = if let Act::Block(all) = &statement.kind { all.as_slice() } else { one };
        let outcome = self.statements(all, text, depth + 1);
        self.scopes.pop();
        outcome
    }

    fn statement(&mut self, statement: &Statement, text: &mut String, depth: usize) -> Outcome<()> {
        let line = statement.line;
        let pad = "    ".repeat(depth);
        match &statement.kind {
            Act::Nothing => {}
            Act::Declare(ty, declared) => {
                for one in declared {
                    let mut lines = String::new();
                    self.declare(ty, one, line, &mut lines, false)?;
                    lines.lines().for_each(|line| {
                        let _ = writeln!(text, "{pad}{line}");
                    });
                }
            }
            Act::Do(value) => {
                let done = self.effect(value)?;
                let _ = writeln!(text, "{pad}{done};");
            }
            Act::Block(_) => {
                let _ = writeln!(text, "{pad}{{");
                self.inner(statement, text, depth)?;
                let _ = writeln!(text, "{pad}}}");
            }
            Act::If(condition, then, other) => self.branch(condition, then, other.as_deref(), text, depth)?,
            Act::While(condition, body) => self.looped(Some(condition), &[], body, text, depth)?,
            Act::For(first, condition, steps, body) => {
                let _ = writeln!(text, "{pad}{{");
                self.scopes.push(HashMap::new());
                if let Some(first) = first {
                    self.statement(first, text, depth + 1)?;
                }
                let outcome = self.looped(condition.as_ref(), steps, body, text, depth + 1);
                self.scopes.pop();
                outcome?;
                let _ = writeln!(text, "{pad}}}");
            }
            Act::Loop(body, condition) => {
                let _ = writeln!(text, "{pad}loop {{");
                self.inner(body, text, depth)?;
                let truth = self.truth(condition)?;
                let _ = writeln!(text, "{pad}    continuing {{ break if !({truth}); }}\n{pad}}}");
            }
            Act::Return(None) => {
                let _ = writeln!(text, "{pad}return;");
            }
            Act::Return(Some(value)) => {
                let result = self.result.clone();
                if result == Type::Void {
                    return Err(Fault::new(line, "a kernel returns nothing".to_owned()));
                }
                let value = self.value(value)?.to(&result, line)?;
                let _ = writeln!(text, "{pad}return {value};");
            }
            Act::Break => {
                let _ = writeln!(text, "{pad}break;");
            }
            Act::Continue => {
                let _ = writeln!(text, "{pad}continue;");
            }
        }
        Ok(())
    }

    fn branch(
        &mut self,
        condition: &Expr,
        then: &Statement,
        other: Option<&Statement>,
        text: &mut String,
        depth: usize,
    ) -> Outcome<()> {
        let pad = "    ".repeat(depth);
        if let Some(known) = self.value(condition)?.known {
            let chosen = if known != 0 { Some(then) } else { other };
            if let Some(chosen) = chosen {
                let _ = writeln!(text, "{pad}{{");
                self.inner(chosen, text, depth)?;
                let _ = writeln!(text, "{pad}}}");
            }
            return Ok(());
        }
        let truth = self.truth(condition)?;
        let _ = writeln!(text, "{pad}if ({truth}) {{");
        self.inner(then, text, depth)?;
        if let Some(other) = other {
            let _ = writeln!(text, "{pad}}} else {{");
            self.inner(other, text, depth)?;
        }
        let _ = writeln!(text, "{pad}}}");
        Ok(())
    }

    fn looped(
        &mut self,
        condition: Option<&Expr>,
        steps: &[Expr],
        body: &Statement,
        text: &mut String,
        depth: usize,
    ) -> Outcome<()> {
        let pad = "    ".repeat(depth);
        let _ = writeln!(text, "{pad}loop {{");
        if let Some(condition) = condition {
            let truth = self.truth(condition)?;
            let _ = writeln!(text, "{pad}    if (!({truth})) {{ break; }}");
        }
        let _ = writeln!(text, "{pad}    {{");
        self.inner(body, text, depth + 1)?;
        let _ = writeln!(text, "{pad}    }}");
        if !steps.is_empty() {
            let mut done = Vec::new();
            for step in steps {
                done.push(format!("{};", self.effect(step)?));
            }
            let _ = writeln!(text, "{pad}    continuing {{ {} }}", done.join(" "));
        }
        let _ = writeln!(text, "{pad}}}");
        Ok(())
    }

    fn declare(
        &mut self,
        ty: &TypeName,
        one: &Declared,
        line: usize,
        text: &mut String,
        top: bool,
    ) -> Outcome<()> {
        let base = ty.name.as_ref().map(|name| self.resolved(name, line)).transpose()?;
        if let Some(length) = &one.length {
            return self.declare_array(base, length, one, ty.shared, line, text, top);
        }
        if ty.shared && !ty.pointer {
            return self.declare_shared(base, &one.name, line);
        }
        let value = one.value.as_ref().map(|value| self.initial(value, base.as_ref())).transpose()?;
        let target = match (base, &value) {
            (_, Some(value)) if matches!(value.ty, Type::Place(..) | Type::Array(..)) => {
                value.as_place(line)?.ty
            }
            (Some(base), _) if !ty.pointer => base,
            (None, Some(value)) => value.ty.clone(),
            _ => return Err(Fault::new(line, format!("what {} is cannot be told", one.name))),
        };
        let known = value
            .as_ref()
            .filter(|_| ty.fixed && !matches!(target, Type::One(Scalar::Real)))
            .and_then(|v| v.known);
        if let (Some(known), Type::One(scalar)) = (known, &target) {
            let variable = Variable { text: literal(known, *scalar), ty: target.clone(), known: Some(known) };
            self.scope().insert(one.name.clone(), variable);
            return Ok(());
        }
        let written = match &value {
            Some(value) if matches!(target, Type::Place(..)) => value.as_place(line)?.text,
            Some(value) => value.to(&target, line)?,
            None => format!("{}()", wgsl_type(&target)),
        };
        let name = self.fresh(&one.name);
        let space = if top { "<private>" } else { "" };
        let _ = writeln!(text, "var{space} {name}: {} = {written};", wgsl_type(&target));
        self.scope().insert(one.name.clone(), Variable { text: name, ty: target, known: None });
        Ok(())
    }

    /// What a variable begins as; `{a, b}` are the elements of a vector.
    fn initial(&mut self, value: &Expr, base: Option<&Type>) -> Outcome<Value> {
        use super::tree::Kind;
        match (&value.kind, base) {
            (Kind::List(all), Some(Type::Vector(scalar, size))) => {
                let mut parts = Vec::new();
                for part in all {
                    parts.push(self.value(part)?.to(&Type::One(*scalar), value.line)?);
                }
                let text = format!("vec{size}<{}>({})", wgsl(*scalar), parts.join(", "));
                Ok(Value::new(text, Type::Vector(*scalar, *size)))
            }
            (Kind::List(all), Some(Type::One(_))) if all.len() == 1 => self.value(&all[0]),
            _ => self.value(value),
        }
    }

    fn scope(&mut self) -> &mut HashMap<String, Variable> {
        if self.scopes.is_empty() {
            self.scopes.push(HashMap::new());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    fn declare_shared(&mut self, base: Option<Type>, name: &str, line: usize) -> Outcome<()> {
        let ty = base.ok_or_else(|| Fault::new(line, format!("what {name} is cannot be told")))?;
        let text = self.fresh(name);
        let _ = writeln!(self.header, "var<workgroup> {text}: {};", wgsl_type(&ty));
        self.scope().insert(name.to_owned(), Variable { text, ty, known: None });
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "all of them are parts of one declaration")]
    fn declare_array(
        &mut self,
        base: Option<Type>,
        length: &Expr,
        one: &Declared,
        shared: bool,
        line: usize,
        text: &mut String,
        top: bool,
    ) -> Outcome<()> {
        let known = self.value(length)?.known.filter(|n| (1..=1 << 20).contains(n));
        let (Some(length), Some(Type::One(scalar))) = (known, base) else {
            let message =
                format!("the array {} has elements of a simple type and a length that is known", one.name);
            return Err(Fault::new(line, message));
        };
        let ty = Type::Array(scalar, length as u64);
        let (name, wide) = (self.fresh(&one.name), wgsl_type(&ty));
        let mut parts = Vec::new();
        if let Some(super::tree::Kind::List(all)) = one.value.as_ref().map(|value| &value.kind) {
            for part in all {
                parts.push(self.value(part)?.to(&Type::One(scalar), line)?);
            }
            parts.resize(length as usize, literal(0, scalar));
        } else if one.value.is_some() {
            return Err(Fault::new(
                line,
                format!("the array {} begins with a list of its elements", one.name),
            ));
        }
        if shared {
            let _ = writeln!(self.header, "var<workgroup> {name}: {wide};");
        } else {
            let space = if top { "<private>" } else { "" };
            let _ = writeln!(text, "var{space} {name}: {wide} = {wide}({});", parts.join(", "));
        }
        self.scope().insert(one.name.clone(), Variable { text: name, ty, known: None });
        Ok(())
    }

    /// A function of the header for arguments of these types: what it is called, and what it returns.
    pub(super) fn instance(&mut self, name: &str, types: &[Type], line: usize) -> Outcome<(String, Type)> {
        let key = (name.to_owned(), types.to_vec());
        if let Some(made) = self.made.get(&key) {
            return Ok(made.clone());
        }
        let fits = |f: &&Function| f.name == name && f.parameters.len() == types.len();
        let function = self.functions.iter().find(fits).ok_or_else(|| {
            Fault::new(line, format!("no function {name} with {} arguments is known here", types.len()))
        })?;
        let told = |message: String| Fault { line: function.line, message, in_header: true };
        if self.open.iter().any(|open| open == name) {
            return Err(told(format!("{name} calls itself, which a GPU cannot")));
        }
        let mut templates = self.setting.templates.clone();
        for ((ty, _), given) in function.parameters.iter().zip(types) {
            let named = ty.name.as_ref().filter(|name| function.templates.contains(name));
            if let (Some(named), Type::One(scalar) | Type::Vector(scalar, _)) = (named, given)
                && !templates.iter().any(|(known, _)| known == named)
            {
                templates.push((named.clone(), Given::Type(*scalar)));
            }
        }
        let outer = (std::mem::replace(&mut self.templates, templates), std::mem::take(&mut self.scopes));
        let outer_result = self.result.clone();
        self.scopes = vec![outer.1[0].clone(), HashMap::new()];
        self.open.push(name.to_owned());
        let written = self.written(function).map_err(|fault| Fault { in_header: true, ..fault });
        self.open.pop();
        (self.templates, self.scopes, self.result) = (outer.0, outer.1, outer_result);
        let made = written?;
        self.made.insert(key, made.clone());
        Ok(made)
    }

    fn written(&mut self, function: &Function) -> Outcome<(String, Type)> {
        let line = function.line;
        let unknown = || Fault::new(line, format!("what {} returns is not said", function.name));
        let result = self.resolved(function.result.name.as_ref().ok_or_else(unknown)?, line)?;
        self.result = result.clone();
        let (mut heads, mut text) = (Vec::new(), String::new());
        for (ty, name) in &function.parameters {
            let unknown = || Fault::new(line, format!("the type of {name} is not said"));
            let ty = self.resolved(ty.name.as_ref().ok_or_else(unknown)?, line)?;
            let (given, variable) = (self.fresh(name), self.fresh(name));
            heads.push(format!("{given}: {}", wgsl_type(&ty)));
            let _ = writeln!(text, "    var {variable} = {given};");
            self.scope().insert(name.clone(), Variable { text: variable, ty, known: None });
        }
        self.statements(&function.body, &mut text, 1)?;
        let name = self.fresh(&function.name);
        let arrow = if result == Type::Void { String::new() } else { format!(" -> {}", wgsl_type(&result)) };
        let _ = write!(self.header, "fn {name}({}){arrow} {{\n{text}}}\n", heads.join(", "));
        Ok((name, result))
    }
}
