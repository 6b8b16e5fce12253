//! What the text of a kernel consists of, once it is parsed.

/// An element type of Metal's language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) enum Scalar {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    /// `half`, `bfloat16_t` and `float`: all are computed in 32 bits.
    Real,
}

/// The type of an expression or a variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Type {
    Void,
    One(Scalar),
    Vector(Scalar, u8),
    /// A place in an array, or a variable that holds one: the array's name in WGSL, and its elements.
    Place(String, Scalar),
    Array(Scalar, u64),
}

/// A type as the text says it, before the names of templates are known.
#[derive(Clone, Debug)]
pub(super) struct TypeName {
    /// `None` for `auto`.
    pub name: Option<String>,
    pub pointer: bool,
    /// `constexpr`, or `const` with a value that is known.
    pub fixed: bool,
    /// In the memory of a threadgroup.
    pub shared: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub kind: Kind,
    pub line: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Name(String),
    Whole(u64, bool),
    Real(f64),
    Truth(bool),
    Unary(&'static str, Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// `=` or an operator with it; `++x` is `x += 1`.
    Assign(&'static str, Box<Expr>, Box<Expr>),
    Choice(Box<Expr>, Box<Expr>, Box<Expr>),
    Index(Box<Expr>, Box<Expr>),
    Member(Box<Expr>, String),
    /// A function by its name, its template arguments, and what it is given; a cast is the call of a type.
    Call(String, Vec<String>, Vec<Expr>),
    /// `{a, b}`.
    List(Vec<Expr>),
}

#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub kind: Act,
    pub line: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Act {
    Declare(TypeName, Vec<Declared>),
    Do(Expr),
    Block(Vec<Statement>),
    If(Expr, Box<Statement>, Option<Box<Statement>>),
    For(Option<Box<Statement>>, Option<Expr>, Vec<Expr>, Box<Statement>),
    While(Expr, Box<Statement>),
    Loop(Box<Statement>, Expr),
    Return(Option<Expr>),
    Break,
    Continue,
    Nothing,
}

#[derive(Clone, Debug)]
pub(super) struct Declared {
    pub name: String,
    /// The number of elements, for an array.
    pub length: Option<Expr>,
    pub value: Option<Expr>,
}

/// A function of the header.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub name: String,
    /// Names of types that it is a template of.
    pub templates: Vec<String>,
    pub result: TypeName,
    pub parameters: Vec<(TypeName, String)>,
    pub body: Vec<Statement>,
    pub line: usize,
}
