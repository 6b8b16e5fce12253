//! What a node that a transform made belongs to: its role, and the operation of the user's function behind it.

use crate::array::Array;
use crate::region;

/// Why a transform made a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Role {
    /// The user's own operation.
    Forward = 0,
    /// Part of a cotangent of the operation's inputs.
    Vjp = 1,
    /// Cotangents that arrived at one array from several readers, added up.
    Accumulate = 2,
    /// Part of a tangent of the operation's results.
    Jvp = 3,
    /// The operation on a whole batch.
    Vmap = 4,
    /// The operation done again for the way back instead of kept.
    Recompute = 5,
}

impl Role {
    /// The role as captures write it; nothing for the user's own operations.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Role::Forward => None,
            Role::Vjp => Some("vjp"),
            Role::Accumulate => Some("accumulate"),
            Role::Jvp => Some("jvp"),
            Role::Vmap => Some("vmap"),
            Role::Recompute => Some("recompute"),
        }
    }

    /// The role of this name.
    pub(crate) fn from_name(name: &str) -> Option<Role> {
        let all = [Role::Vjp, Role::Accumulate, Role::Jvp, Role::Vmap, Role::Recompute];
        all.into_iter().find(|role| role.name() == Some(name))
    }
}

/// Runs `f` with every node it makes belonging to `forward` in this role.
pub(super) fn within<R>(role: Role, forward: &Array, f: impl FnOnce() -> R) -> R {
    // The gradient of a gradient belongs to the user's operation as well.
    let of = match forward.0.origin().of {
        0 => forward.id(),
        first => first,
    };
    region::with_origin(region::Origin { role, of }, f)
}
