//! Another order of a structure's members, of which fewer lines are touched.
//! Pure functions of what was accessed together.

pub(crate) mod line_costs;
pub(crate) mod member_order;
pub(crate) mod movable_part;
