//! Times of a block, there and back.

use super::*;

/// Times of events, shape after shape, and of which group each shape is; they come back.
fn there_and_back(rows: &[(u32, i64, i64)], group_of_shape: &[u32]) -> TimesOut {
    let mut expected = Columns::default();
    for (row, &(shape, gap_ns, duration_ns)) in rows.iter().enumerate() {
        let short = |time: i64| u32::try_from(time).unwrap_or(LONG);
        expected.shape_of.push(shape as u16);
        expected.gaps.push(short(gap_ns));
        expected.durations.push(short(duration_ns));
        if short(gap_ns) == LONG || short(duration_ns) == LONG {
            expected.long.push(Long { row: row as u32, gap_ns, duration_ns });
        }
    }
    let mut out = TimesOut::default();
    let group_of: Vec<u32> =
        rows.iter().map(|&(shape, ..)| group_of_shape[shape as usize]).collect();
    let groups = group_of_shape.iter().max().map_or(0, |&most| most as usize + 1);
    let Columns { gaps, durations, long, .. } = &expected;
    out.put(&Rows { gaps, durations, long, group_of: &group_of, groups });
    let mut columns = Columns { shape_of: expected.shape_of.clone(), ..Columns::default() };
    read_back(&out, group_of_shape, &mut columns).unwrap();
    assert_eq!(columns, expected);
    out
}

fn read_back(out: &TimesOut, group_of_shape: &[u32], columns: &mut Columns) -> Result<(), Damage> {
    let groups = read_groups(&out.groups)?;
    let (mut of_shape, mut times) = (Vec::new(), Vec::new());
    for &group in group_of_shape {
        put_varint(&mut of_shape, group.into());
    }
    of_shapes(&groups, &of_shape, group_of_shape.len(), &mut times)?;
    unpack(&mut out.bits.clone(), &times, columns)?;
    put_listed(&out.listed_gaps, &out.listed_durations, columns)
}

#[test]
fn a_few_times_spelled_out() {
    // Two shapes of one group: gaps 100 and 0 to 7, one of 5,000; durations 9 and 10.
    let mut rows: Vec<(u32, i64, i64)> =
        (0..16).map(|i| (i as u32 % 2, 100 + i % 8, 9 + i % 2)).collect();
    rows[5].1 = 5_000;
    let out = there_and_back(&rows, &[0, 0]);
    // least gap 100 in 3 bits, least duration 9 in 1
    assert_eq!(out.groups, [100, 3, 9, 1]);
    // low bits first: gap 0 duration 0, gap 1 duration 1: 0 and 9; then 2 and b, 4, and the
    // listed one as gap 0 duration 1: 8; 6, f; and all again with gap 5
    assert_eq!(out.bits, [0x90, 0xb2, 0x84, 0xf6, 0x90, 0xb2, 0xd4, 0xf6]);
    // 5 events before it, and 5,000 = 39 * 128 + 8
    assert_eq!(out.listed_gaps, [5, 0x88, 39]);
    assert!(out.listed_durations.is_empty());
}

#[test]
fn all_times_come_back() {
    let mut noise = 88_172_645_463_325_252_u64;
    let mut below = |below: u64| {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        noise % below
    };
    for _ in 0..300 {
        let shapes = 1 + below(5) as u32;
        let groups: Vec<u32> = (0..shapes).map(|shape| shape / (1 + below(2) as u32)).collect();
        let widest = 1 + below(40);
        let rows: Vec<(u32, i64, i64)> = (0..below(400))
            .map(|_| {
                let shape = below(shapes.into()) as u32;
                let width = if below(30) == 0 { 62 } else { 1 + below(widest) };
                let least = u64::from(shape) * 1_000_003;
                let time = |value: u64| (value % (1 << 59)) as i64 / 400;
                (shape, time(least + below(1 << width)), time(least + below(1 << width)))
            })
            .collect();
        there_and_back(&rows, &groups);
    }
}

#[test]
fn times_at_the_edges_come_back() {
    let edges = [0, 1, (1 << 28) - 1, 1 << 28, 0xefff_ffff, 0xffff_fffe, 0xffff_ffff, 1 << 40];
    for first in edges {
        for second in edges {
            there_and_back(&[(0, first, second), (0, second, first)], &[0]);
            there_and_back(&[(0, first, first)], &[0]);
        }
    }
}

#[test]
fn what_makes_no_sense_is_damage() {
    let shape_of = vec![0; 4];
    let events = || Columns { shape_of: shape_of.clone(), ..Columns::default() };
    let read = |groups: &[u8], bits: &[u8], gaps: &[u8]| {
        let out = TimesOut {
            groups: groups.into(),
            bits: bits.into(),
            listed_gaps: gaps.into(),
            ..TimesOut::default()
        };
        read_back(&out, &[0], &mut events()).map_err(|damage| damage.what)
    };
    assert_eq!(read(&[1, 3, 1, 3], &[0; 3], &[3, 9]), Ok(()));
    for (groups, bits, gaps, complaint) in [
        (&[1, 29, 1, 3][..], &[0; 16][..], &[][..], "a group's times are out of range"),
        (&[0xff, 0xff, 0xff, 0xff, 15, 0, 1, 0], &[], &[], "a group's times are out of range"),
        (&[1, 3, 1], &[0; 3], &[], "it ends in the middle of a record"),
        (&[], &[0; 3], &[], "a shape belongs to no group"),
        (&[1, 3, 1, 3], &[0; 2], &[], "a block has not as many times as events"),
        (&[1, 28, 1, 28], &[0; 2], &[], "a block has fewer times than events"),
        (&[1, 3, 1, 3], &[0; 4], &[], "a block has not as many times as events"),
        (&[1, 3, 1, 3], &[0; 3], &[4, 9], "a time belongs to no event"),
        (
            &[1, 3, 1, 3],
            &[0; 3],
            &[0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
            "a time is out of range",
        ),
    ] {
        assert_eq!(read(groups, bits, gaps), Err(complaint), "{groups:?} {bits:?} {gaps:?}");
    }
}
