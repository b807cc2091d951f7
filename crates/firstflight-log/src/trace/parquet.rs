//! The log as a Parquet file: the columns of the table, all nullable, compressed with zstd.
//!
//! Rows are converted to columns one group at a time, so apart from the logs only one group is in
//! memory.

use super::csv::{SCHEMA, owned, places, signals};
use super::fields::{COLUMNS, Cell, Kind, SIGNAL};
use super::{Entry, Log};
use crate::Error;
use firstflight::Time;
use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

/// Number of rows in a group.
const GROUP: usize = 65_536;

fn bad(error: &ParquetError) -> Error {
    Error::new(format!("parquet: {error}"))
}

/// Writes traces one after the other, the first as connection 0.
///
/// # Errors
/// The errors of the writer.
pub fn write<W: Write + Send>(traces: &[&Log], out: W) -> Result<W, Error> {
    try_write(traces, out).map_err(|error| bad(&error))
}

fn try_write<W: Write + Send>(traces: &[&Log], out: W) -> Result<W, ParquetError> {
    let names = signals(traces.iter().copied());
    let kinds: Vec<(String, Kind)> = COLUMNS
        .iter()
        .map(|column| (column.name.to_owned(), column.kind))
        .chain(names.iter().map(|name| (format!("{SIGNAL}{name}"), Kind::Whole)))
        .collect();
    let mut file = SerializedFileWriter::new(out, schema(&kinds)?, Arc::new(properties()))?;
    let places = places();
    let mut rows = traces.iter().zip(0_u32..).flat_map(|(trace, connection)| {
        let start = trace.start().map_or_else(Default::default, |start| start.start);
        let order: Arc<[Option<usize>]> =
            names.iter().map(|name| trace.names.iter().position(|own| own == name)).collect();
        trace.entries.iter().map(move |entry| (entry, connection, start, Arc::clone(&order)))
    });
    loop {
        let group: Vec<Vec<Option<Cell<'static>>>> = rows
            .by_ref()
            .take(GROUP)
            .map(|(entry, connection, start, order)| row(entry, connection, start, &order, &places))
            .collect();
        if group.is_empty() {
            break;
        }
        write_group(&mut file, &group)?;
    }
    file.into_inner()
}

fn schema(kinds: &[(String, Kind)]) -> Result<Arc<Type>, ParquetError> {
    let field = |(name, kind): &(String, Kind)| {
        let (physical, converted) = match kind {
            Kind::Name => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
            Kind::Whole if name == "connection" => (Physical::INT32, ConvertedType::UINT_32),
            Kind::Whole => (Physical::INT64, ConvertedType::UINT_64),
            Kind::Real => (Physical::DOUBLE, ConvertedType::NONE),
            Kind::Flag => (Physical::BOOLEAN, ConvertedType::NONE),
        };
        let built = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_converted_type(converted)
            .build();
        built.map(Arc::new)
    };
    let fields = kinds.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder("event").with_fields(fields).build().map(Arc::new)
}

fn properties() -> WriterProperties {
    let entry =
        |key: &str, value: &str| KeyValue::new(format!("firstflight.{key}"), value.to_owned());
    let metadata = vec![
        entry("schema", SCHEMA),
        entry("kind", "trace"),
        entry("version", env!("CARGO_PKG_VERSION")),
    ];
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(format!("firstflight {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(metadata))
        .build()
}

fn row(
    entry: &Entry,
    connection: u32,
    start: Time,
    order: &[Option<usize>],
    places: &HashMap<&'static str, usize>,
) -> Vec<Option<Cell<'static>>> {
    let mut row = vec![None; COLUMNS.len()];
    entry.cells(connection, start, &mut |name, cell| {
        if let Some(place) = places.get(name) {
            row[*place] = Some(owned(cell));
        }
    });
    row.extend(order.iter().map(|place| {
        place.and_then(|place| entry.signals.get(place).copied().flatten()).map(Cell::Whole)
    }));
    row
}

fn write_group<W: Write + Send>(
    file: &mut SerializedFileWriter<W>,
    rows: &[Vec<Option<Cell<'static>>>],
) -> Result<(), ParquetError> {
    let mut group = file.next_row_group()?;
    let mut index = 0;
    while let Some(mut column) = group.next_column()? {
        let cells = || rows.iter().filter_map(|row| row[index].as_ref());
        let levels: Vec<i16> = rows.iter().map(|row| i16::from(row[index].is_some())).collect();
        let wholes = || {
            cells().filter_map(
                |cell| if let Cell::Whole(number) = cell { Some(*number) } else { None },
            )
        };
        match column.untyped() {
            ColumnWriter::ByteArrayColumnWriter(writer) => {
                let text = |cell: &Cell<'static>| {
                    if let Cell::Name(name) = cell { Some(ByteArray::from(&**name)) } else { None }
                };
                writer.write_batch(
                    &cells().filter_map(text).collect::<Vec<_>>(),
                    Some(&levels),
                    None,
                )?;
            }
            ColumnWriter::Int32ColumnWriter(writer) => {
                writer.write_batch(
                    &wholes().map(|number| number as i32).collect::<Vec<_>>(),
                    Some(&levels),
                    None,
                )?;
            }
            ColumnWriter::Int64ColumnWriter(writer) => {
                writer.write_batch(
                    &wholes().map(|number| number as i64).collect::<Vec<_>>(),
                    Some(&levels),
                    None,
                )?;
            }
            ColumnWriter::DoubleColumnWriter(writer) => {
                let real = |cell: &Cell<'static>| {
                    if let Cell::Real(number) = cell { Some(*number) } else { None }
                };
                writer.write_batch(
                    &cells().filter_map(real).collect::<Vec<_>>(),
                    Some(&levels),
                    None,
                )?;
            }
            ColumnWriter::BoolColumnWriter(writer) => {
                let flag = |cell: &Cell<'static>| {
                    if let Cell::Flag(flag) = cell { Some(*flag) } else { None }
                };
                writer.write_batch(
                    &cells().filter_map(flag).collect::<Vec<_>>(),
                    Some(&levels),
                    None,
                )?;
            }
            _ => return Err(ParquetError::General("a column of a kind that no event has".into())),
        }
        column.close()?;
        index += 1;
    }
    group.close()?;
    Ok(())
}

/// Reads the output of [`write()`]. A table does not include the receiver's end.
///
/// # Errors
/// A message about the file, or with the number of the invalid row.
pub fn read(file: std::fs::File) -> Result<Vec<Log>, Error> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    let reader = SerializedFileReader::new(file).map_err(|error| bad(&error))?;
    let fields = reader.metadata().file_metadata().schema().get_fields().to_vec();
    let names: Vec<String> = fields
        .iter()
        .filter_map(|field| field.name().strip_prefix(SIGNAL))
        .map(str::to_owned)
        .collect();
    let mut traces: Vec<Log> = Vec::new();
    for (row, number) in reader.get_row_iter(None).map_err(|error| bad(&error))?.zip(1_u64..) {
        let row = row.map_err(|error| bad(&error))?;
        let cells: HashMap<&str, String> = row
            .get_column_iter()
            .filter_map(|(name, field)| {
                let text = match field {
                    Field::Null => return None,
                    Field::Str(text) => text.clone(),
                    Field::Bool(flag) => flag.to_string(),
                    Field::UInt(number) => number.to_string(),
                    Field::ULong(number) => number.to_string(),
                    Field::Double(number) => number.to_string(),
                    other => other.to_string(),
                };
                Some((name.as_str(), text))
            })
            .collect();
        let bad = |what: String| Error::new(format!("row {number}: {what}"));
        let get = |name: &str| cells.get(name).map(|text| Cow::Borrowed(text.as_str()));
        let connection: usize = get("connection")
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| bad("connection is missing".into()))?;
        if connection == traces.len() {
            traces.push(Log { names: names.clone(), ..Log::default() });
        }
        let trace = traces
            .get_mut(connection)
            .ok_or_else(|| bad(format!("connection {connection} has no start")))?;
        let event = get("event").unwrap_or_default();
        trace.entries.extend(super::fields::Row(&get).entry(&event, trace).map_err(bad)?);
    }
    Ok(traces)
}
