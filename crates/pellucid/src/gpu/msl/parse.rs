//! From words to statements: the part of Metal's language that kernels of arrays are written in.

use super::lex::{Token, Word};
use super::tree::{Act, Declared, Expr, Function, Kind, Statement, TypeName};
use super::types::is_type;
use super::{Fault, Outcome};

pub(super) struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    /// Names of types that are known besides the language's own.
    pub types: Vec<String>,
    /// How deep expressions and statements are inside one another.
    depth: usize,
}

/// Expressions and statements inside one another; more is nothing that a person writes.
const DEEPEST: usize = 100;

/// Words before a type that change nothing here.
const QUALIFIERS: [&str; 10] = [
    "const",
    "constexpr",
    "device",
    "constant",
    "thread",
    "threadgroup",
    "static",
    "inline",
    "volatile",
    "METAL_FUNC",
];

/// Operators of two sides, the weakest first.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl<'a> Parser<'a> {
    pub fn new(tokens: &'a [Token], types: Vec<String>) -> Parser<'a> {
        Parser { tokens, at: 0, types, depth: 0 }
    }

    /// Parses something inside something.
    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<T> {
        if self.depth == DEEPEST {
            return Err(Fault::new(
                self.line(),
                format!("more than {DEEPEST} things stand inside one another"),
            ));
        }
        self.depth += 1;
        let outcome = inner(self);
        self.depth -= 1;
        outcome
    }

    fn word(&self) -> &Word {
        &self.tokens[self.at.min(self.tokens.len() - 1)].word
    }

    fn ahead(&self, n: usize) -> &Word {
        &self.tokens[(self.at + n).min(self.tokens.len() - 1)].word
    }

    fn line(&self) -> usize {
        self.tokens[self.at.min(self.tokens.len() - 1)].line
    }

    fn fault<T>(&self, wanted: &str) -> Outcome<T> {
        let found = match self.word() {
            Word::Name(name) => format!("{name:?}"),
            Word::Sign(sign) => format!("{sign:?}"),
            Word::Whole(value, _) => value.to_string(),
            Word::Real(value) => value.to_string(),
            Word::End => "the end".to_owned(),
        };
        Err(Fault::new(self.line(), format!("{wanted} was expected, not {found}")))
    }

    fn takes(&mut self, sign: &str) -> bool {
        let is = matches!(self.word(), Word::Sign(found) if *found == sign);
        self.at += usize::from(is);
        is
    }

    fn takes_name(&mut self, name: &str) -> bool {
        let is = matches!(self.word(), Word::Name(found) if found == name);
        self.at += usize::from(is);
        is
    }

    fn needs(&mut self, sign: &str) -> Outcome<()> {
        if self.takes(sign) { Ok(()) } else { self.fault(&format!("{sign:?}")) }
    }

    fn name(&mut self) -> Outcome<String> {
        match self.word().clone() {
            Word::Name(name) => {
                self.at += 1;
                Ok(name)
            }
            _ => self.fault("a name"),
        }
    }

    /// `a::b::c` without what stands before the last name.
    fn path(&mut self) -> Outcome<String> {
        self.takes("::");
        let mut name = self.name()?;
        while self.takes("::") {
            name = self.name()?;
        }
        Ok(name)
    }

    fn is_type_name(&self, name: &str) -> bool {
        is_type(name) || self.types.iter().any(|known| known == name)
    }

    fn begins_type(&self) -> bool {
        let Word::Name(name) = self.word() else { return false };
        let declares = !matches!(self.ahead(1), Word::Sign("(") | Word::Sign("{"));
        QUALIFIERS.contains(&name.as_str())
            || name == "auto"
            || name == "unsigned"
            || (self.is_type_name(name) && declares)
            || (name == "metal"
                && matches!(self.ahead(2), Word::Name(inner) if self.is_type_name(inner))
                && matches!(self.ahead(3), Word::Name(_)))
    }

    /// A type with its qualifiers.
    fn type_name(&mut self) -> Outcome<TypeName> {
        let mut named = TypeName { name: None, pointer: false, fixed: false, shared: false };
        let mut found = false;
        while let Word::Name(name) = self.word().clone() {
            if QUALIFIERS.contains(&name.as_str()) {
                named.fixed |= name == "constexpr" || name == "const";
                named.shared |= name == "threadgroup";
                self.at += 1;
            } else if name == "unsigned" && !found {
                self.at += 1;
                found = true;
                let inner = ["int", "char", "short", "long"].into_iter().find(|name| self.takes_name(name));
                named.name = Some(format!("u{}", inner.unwrap_or("int")));
            } else if !found {
                let name = self.path()?;
                found = true;
                if name != "auto" {
                    if !self.is_type_name(&name) {
                        return Err(Fault::new(
                            self.line(),
                            format!("{name} is not a type that is known here"),
                        ));
                    }
                    named.name = Some(name);
                }
            } else {
                break;
            }
        }
        while self.takes("*") || self.takes("&") {
            named.pointer = true;
            while self.takes_name("const") || self.takes_name("restrict") || self.takes_name("__restrict") {}
        }
        if found { Ok(named) } else { self.fault("a type") }
    }

    /// The statements of a whole body.
    pub fn body(&mut self) -> Outcome<Vec<Statement>> {
        let mut all = Vec::new();
        while *self.word() != Word::End {
            all.push(self.statement()?);
        }
        Ok(all)
    }

    /// The functions and constants of a header.
    pub fn header(&mut self) -> Outcome<(Vec<Function>, Vec<Statement>)> {
        let (mut functions, mut constants) = (Vec::new(), Vec::new());
        while *self.word() != Word::End {
            if self.takes_name("using") {
                while !self.takes(";") {
                    self.at += 1;
                    if *self.word() == Word::End {
                        return self.fault("\";\"");
                    }
                }
                continue;
            }
            if self.takes(";") {
                continue;
            }
            let templates = if self.takes_name("template") { self.template()? } else { Vec::new() };
            let known = self.types.len();
            self.types.extend(templates.iter().cloned());
            let (line, start) = (self.line(), self.at);
            let result = self.type_name()?;
            let name = self.name()?;
            if self.takes("(") {
                let parameters = self.parameters()?;
                let body = self.block()?;
                functions.push(Function { name, templates, result, parameters, body, line });
            } else {
                self.at = start;
                constants.push(self.statement()?);
            }
            self.types.truncate(known);
        }
        Ok((functions, constants))
    }

    fn template(&mut self) -> Outcome<Vec<String>> {
        self.needs("<")?;
        let mut names = Vec::new();
        loop {
            if !(self.takes_name("typename") || self.takes_name("class")) {
                return self.fault("typename (templates of values are not understood in headers)");
            }
            names.push(self.name()?);
            if !self.takes(",") {
                break;
            }
        }
        self.needs(">")?;
        Ok(names)
    }

    fn parameters(&mut self) -> Outcome<Vec<(TypeName, String)>> {
        let mut all = Vec::new();
        while !self.takes(")") {
            let (line, ty) = (self.line(), self.type_name()?);
            if ty.pointer {
                return Err(Fault::new(
                    line,
                    "functions that take pointers or references are not understood".to_owned(),
                ));
            }
            all.push((ty, self.name()?));
            if !self.takes(",") && !matches!(self.word(), Word::Sign(")")) {
                return self.fault("\",\" or \")\"");
            }
        }
        Ok(all)
    }

    fn block(&mut self) -> Outcome<Vec<Statement>> {
        self.needs("{")?;
        let mut all = Vec::new();
        while !self.takes("}") {
            all.push(self.statement()?);
        }
        Ok(all)
    }

    fn statement(&mut self) -> Outcome<Statement> {
        let line = self.line();
        let kind = self.deeper(Parser::act)?;
        Ok(Statement { kind, line })
    }

    fn act(&mut self) -> Outcome<Act> {
        if matches!(self.word(), Word::Sign("{")) {
            return Ok(Act::Block(self.block()?));
        }
        if self.takes(";") {
            return Ok(Act::Nothing);
        }
        if self.takes_name("if") {
            self.takes_name("constexpr");
            let condition = self.in_brackets()?;
            let then = Box::new(self.statement()?);
            let other = if self.takes_name("else") { Some(Box::new(self.statement()?)) } else { None };
            return Ok(Act::If(condition, then, other));
        }
        if self.takes_name("while") {
            return Ok(Act::While(self.in_brackets()?, Box::new(self.statement()?)));
        }
        if self.takes_name("do") {
            let body = Box::new(self.statement()?);
            if !self.takes_name("while") {
                return self.fault("while");
            }
            let condition = self.in_brackets()?;
            self.needs(";")?;
            return Ok(Act::Loop(body, condition));
        }
        if self.takes_name("for") {
            return self.for_loop();
        }
        let simple = if self.takes_name("break") {
            Act::Break
        } else if self.takes_name("continue") {
            Act::Continue
        } else if self.takes_name("return") {
            let value = if matches!(self.word(), Word::Sign(";")) { None } else { Some(self.expression()?) };
            Act::Return(value)
        } else if self.takes_name("using") || self.takes_name("typedef") {
            return self.fault("a statement (new names for types are not understood)");
        } else if self.begins_type() {
            self.declaration()?
        } else {
            Act::Do(self.expression()?)
        };
        self.needs(";")?;
        Ok(simple)
    }

    fn in_brackets(&mut self) -> Outcome<Expr> {
        self.needs("(")?;
        let inner = self.expression()?;
        self.needs(")")?;
        Ok(inner)
    }

    fn for_loop(&mut self) -> Outcome<Act> {
        self.needs("(")?;
        let line = self.line();
        let first = if self.takes(";") {
            None
        } else {
            let kind = if self.begins_type() { self.declaration()? } else { Act::Do(self.expression()?) };
            self.needs(";")?;
            Some(Box::new(Statement { kind, line }))
        };
        let condition = if matches!(self.word(), Word::Sign(";")) { None } else { Some(self.expression()?) };
        self.needs(";")?;
        let mut steps = Vec::new();
        while !self.takes(")") {
            steps.push(self.expression()?);
            self.takes(",");
        }
        Ok(Act::For(first, condition, steps, Box::new(self.statement()?)))
    }

    fn declaration(&mut self) -> Outcome<Act> {
        let ty = self.type_name()?;
        let mut all = Vec::new();
        loop {
            let name = self.name()?;
            let length = if self.takes("[") {
                let length = self.expression()?;
                self.needs("]")?;
                Some(length)
            } else {
                None
            };
            let value = if self.takes("=") {
                Some(self.assignment()?)
            } else if matches!(self.word(), Word::Sign("{")) {
                Some(self.primary()?)
            } else {
                None
            };
            all.push(Declared { name, length, value });
            if !self.takes(",") {
                return Ok(Act::Declare(ty, all));
            }
        }
    }

    pub fn expression(&mut self) -> Outcome<Expr> {
        self.assignment()
    }

    fn assignment(&mut self) -> Outcome<Expr> {
        self.deeper(Parser::assigned)
    }

    fn assigned(&mut self) -> Outcome<Expr> {
        let line = self.line();
        let target = self.choice()?;
        const OPERATORS: [&str; 11] = ["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="];
        if let Word::Sign(sign) = *self.word()
            && OPERATORS.contains(&sign)
        {
            self.at += 1;
            let value = self.assignment()?;
            return Ok(Expr { kind: Kind::Assign(sign, Box::new(target), Box::new(value)), line });
        }
        Ok(target)
    }

    fn choice(&mut self) -> Outcome<Expr> {
        let line = self.line();
        let condition = self.binary(0)?;
        if !self.takes("?") {
            return Ok(condition);
        }
        let then = self.assignment()?;
        self.needs(":")?;
        let other = self.assignment()?;
        Ok(Expr { kind: Kind::Choice(Box::new(condition), Box::new(then), Box::new(other)), line })
    }

    fn binary(&mut self, level: usize) -> Outcome<Expr> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Word::Sign(sign) = *self.word() {
            if !operators.contains(&sign) {
                break;
            }
            let line = self.line();
            self.at += 1;
            let right = self.binary(level + 1)?;
            left = Expr { kind: Kind::Binary(sign, Box::new(left), Box::new(right)), line };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Outcome<Expr> {
        self.deeper(Parser::prefixed)
    }

    fn prefixed(&mut self) -> Outcome<Expr> {
        let line = self.line();
        for (sign, step) in [("++", "+="), ("--", "-=")] {
            if self.takes(sign) {
                let target = self.unary()?;
                return Ok(stepped(step, target, line));
            }
        }
        for sign in ["-", "+", "!", "~", "*", "&"] {
            if self.takes(sign) {
                return Ok(Expr { kind: Kind::Unary(sign, Box::new(self.unary()?)), line });
            }
        }
        if matches!(self.word(), Word::Sign("("))
            && let Word::Name(name) = self.ahead(1).clone()
            && self.is_type_name(&name)
            && matches!(self.ahead(2), Word::Sign(")"))
        {
            self.at += 3;
            let inner = self.unary()?;
            return Ok(Expr { kind: Kind::Call(name, Vec::new(), vec![inner]), line });
        }
        self.postfix()
    }

    fn postfix(&mut self) -> Outcome<Expr> {
        let mut value = self.primary()?;
        loop {
            let line = self.line();
            if self.takes("[") {
                let index = self.expression()?;
                self.needs("]")?;
                value = Expr { kind: Kind::Index(Box::new(value), Box::new(index)), line };
            } else if self.takes(".") {
                let member = self.name()?;
                value = Expr { kind: Kind::Member(Box::new(value), member), line };
            } else if self.takes("++") {
                value = stepped("+=", value, line);
            } else if self.takes("--") {
                value = stepped("-=", value, line);
            } else {
                return Ok(value);
            }
        }
    }

    fn primary(&mut self) -> Outcome<Expr> {
        let line = self.line();
        let kind = match self.word().clone() {
            Word::Whole(value, unsigned) => {
                self.at += 1;
                Kind::Whole(value, unsigned)
            }
            Word::Real(value) => {
                self.at += 1;
                Kind::Real(value)
            }
            Word::Sign("(") => return self.in_brackets(),
            Word::Sign("{") => {
                self.at += 1;
                Kind::List(self.arguments("}")?)
            }
            Word::Name(_) => {
                let name = self.path()?;
                self.named(name)?
            }
            _ => return self.fault("a value"),
        };
        Ok(Expr { kind, line })
    }

    fn named(&mut self, name: String) -> Outcome<Kind> {
        if name == "true" || name == "false" {
            return Ok(Kind::Truth(name == "true"));
        }
        let mut templates = Vec::new();
        let templated = matches!(
            name.as_str(),
            "static_cast" | "as_type" | "reinterpret_cast" | "vec" | "numeric_limits"
        );
        if templated && self.takes("<") {
            loop {
                match self.word().clone() {
                    Word::Whole(value, _) => {
                        self.at += 1;
                        templates.push(value.to_string());
                    }
                    _ => {
                        let ty = self.type_name()?;
                        templates.push(ty.name.unwrap_or_default());
                    }
                }
                if !self.takes(",") {
                    break;
                }
            }
            self.needs(">")?;
            if self.takes("::") {
                let member = self.name()?;
                self.needs("(")?;
                self.needs(")")?;
                return Ok(Kind::Call(format!("{name}::{member}"), templates, Vec::new()));
            }
        }
        if self.takes("(") {
            return Ok(Kind::Call(name, templates, self.arguments(")")?));
        }
        Ok(Kind::Name(name))
    }

    fn arguments(&mut self, end: &str) -> Outcome<Vec<Expr>> {
        let mut all = Vec::new();
        while !self.takes(end) {
            all.push(self.assignment()?);
            if !self.takes(",") && !matches!(self.word(), Word::Sign(sign) if *sign == end) {
                return self.fault(&format!("\",\" or {end:?}"));
            }
        }
        Ok(all)
    }
}

fn stepped(step: &'static str, target: Expr, line: usize) -> Expr {
    let one = Expr { kind: Kind::Whole(1, false), line };
    Expr { kind: Kind::Assign(step, Box::new(target), Box::new(one)), line }
}
