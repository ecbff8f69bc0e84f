//! A frame without room in front: the packet moves into a new one.

use tables::{Outcome, Template};

use super::oversize::{Sender, whole};
use super::{FlowLabel, apply};
use crate::batch::Packet;
use crate::io::Io;
use crate::parse::Parsed;

impl<I: Io> Sender<'_, I> {
    /// Encapsulates the packet in a frame of its own making, which takes the old one's place.
    #[cold]
    #[inline(never)]
    pub(super) fn move_and_apply(
        &mut self,
        packet: &mut Packet<I::Frame>,
        template: &Template,
        id: u16,
        label: FlowLabel,
    ) -> Result<(), Outcome> {
        let mut frame = self.io.copy(&[whole(packet)?]).ok_or(Outcome::NoHeadroom)?;
        let parsed = &packet.parsed;
        let alone = Parsed { l3: 0, l4: parsed.l4.saturating_sub(parsed.l3), ..*parsed };
        apply(&mut frame, &alone, template, id, label)?;
        packet.frame = frame;
        Ok(())
    }
}
