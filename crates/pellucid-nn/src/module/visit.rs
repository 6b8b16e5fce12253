//! The way through a module: what is shown, and under which path.

use pellucid::Array;

use super::{Mode, Module, Param};
use crate::layers::{AnyEmbedding, AnyLinear};

/// Sees the parts of a module in order. What is of no interest is left out.
pub trait Visitor {
    /// A module of this kind begins.
    fn begin(&mut self, path: &str, kind: &'static str) {
        let _ = (path, kind);
    }

    /// The module that began last ends.
    fn end(&mut self) {}

    /// A parameter.
    fn parameter(&mut self, path: &str, parameter: &Param) {
        let _ = (path, parameter);
    }

    /// An array that is saved and not learnt.
    fn buffer(&mut self, path: &str, array: &Array) {
        let _ = (path, array);
    }

    /// A setting.
    fn constant(&mut self, bytes: &[u8]) {
        let _ = bytes;
    }
}

/// Changes the parts of a module, in order.
pub trait VisitorMut {
    /// A parameter.
    fn parameter(&mut self, path: &str, parameter: &mut Param) {
        let _ = (path, parameter);
    }

    /// An array that is saved and not learnt.
    fn buffer(&mut self, path: &str, array: &mut Array) {
        let _ = (path, array);
    }

    /// The mode of a layer.
    fn mode(&mut self, path: &str, mode: &mut Mode) {
        let _ = (path, mode);
    }

    /// A linear layer that may take other forms. Its parts are visited afterwards.
    fn linear(&mut self, path: &str, layer: &mut AnyLinear) {
        let _ = (path, layer);
    }

    /// An embedding that may take other forms. Its parts are visited afterwards.
    fn embedding(&mut self, path: &str, layer: &mut AnyEmbedding) {
        let _ = (path, layer);
    }
}

/// Adds a part to a path, and takes it away again.
fn below<R>(path: &mut String, part: &str, f: impl FnOnce(&mut String) -> R) -> R {
    let before = path.len();
    if before > 0 {
        path.push('.');
    }
    path.push_str(part);
    let result = f(path);
    path.truncate(before);
    result
}

/// A place in a module that is being read.
pub struct Visit<'a> {
    path: &'a mut String,
    visitor: &'a mut dyn Visitor,
}

impl Visit<'_> {
    /// Shows a module to a visitor.
    pub fn all(module: &(impl Module + ?Sized), visitor: &mut dyn Visitor) {
        module.visit(&mut Visit { path: &mut String::new(), visitor });
    }

    /// A module of this kind begins here.
    pub fn begin(&mut self, kind: &'static str) {
        self.visitor.begin(self.path, kind);
    }

    /// The module that began last ends.
    pub fn end(&mut self) {
        self.visitor.end();
    }

    /// A part with a name.
    pub fn field(&mut self, name: &str, part: &dyn Module) {
        let visitor = &mut *self.visitor;
        below(self.path, name, |path| part.visit(&mut Visit { path, visitor }));
    }

    /// What is here is a parameter.
    pub fn parameter(&mut self, parameter: &Param) {
        self.visitor.parameter(self.path, parameter);
    }

    /// What is here is an array that is not learnt.
    pub fn buffer(&mut self, array: &Array) {
        self.visitor.buffer(self.path, array);
    }

    /// What is here is a setting.
    pub fn constant(&mut self, bytes: &[u8]) {
        self.visitor.constant(bytes);
    }
}

/// A place in a module that is being changed.
pub struct VisitMut<'a> {
    path: &'a mut String,
    visitor: &'a mut dyn VisitorMut,
}

impl VisitMut<'_> {
    /// Gives a module to a visitor.
    pub fn all(module: &mut (impl Module + ?Sized), visitor: &mut dyn VisitorMut) {
        module.visit_mut(&mut VisitMut { path: &mut String::new(), visitor });
    }

    /// A part with a name.
    pub fn field(&mut self, name: &str, part: &mut dyn Module) {
        let visitor = &mut *self.visitor;
        below(self.path, name, |path| part.visit_mut(&mut VisitMut { path, visitor }));
    }

    /// What is here is a parameter.
    pub fn parameter(&mut self, parameter: &mut Param) {
        self.visitor.parameter(self.path, parameter);
    }

    /// What is here is an array that is not learnt.
    pub fn buffer(&mut self, array: &mut Array) {
        self.visitor.buffer(self.path, array);
    }

    /// What is here is a mode.
    pub fn mode(&mut self, mode: &mut Mode) {
        self.visitor.mode(self.path, mode);
    }

    /// What is here is a linear layer of any form.
    pub fn linear(&mut self, layer: &mut AnyLinear) {
        self.visitor.linear(self.path, layer);
    }

    /// What is here is an embedding of any form.
    pub fn embedding(&mut self, layer: &mut AnyEmbedding) {
        self.visitor.embedding(self.path, layer);
    }
}
