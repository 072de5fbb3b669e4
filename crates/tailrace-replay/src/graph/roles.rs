//! What the numbers that deeds refer to stand for.

use crate::graph::collectives::Part;
use crate::graph::messages::MessageId;

/// What a role of a rank stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Role {
    /// A send that waits for its receive to be posted, and one that waits for nothing.
    Send(MessageId),
    Eager(MessageId),
    Receive(MessageId),
    Collective(Part),
    /// Not followed.
    Nothing,
}
