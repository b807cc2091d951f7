//! Stores rows that arrive one by one in a folder of Parquet files. A Parquet file cannot be read
//! before its end is written, so each file is complete ([`Whole`]).
//! If the program is killed, the rows since the last file are lost.

use firstflight_path::Error;
use firstflight_table::whole::{For, Whole};
use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field;
use parquet::schema::types::{Type, TypePtr};
use serde_json::{Map, Value};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use firstflight_trial::row::Holds;

/// Extension of the files in a folder.
pub(super) const ENDING: &str = "parquet";

/// A folder that takes rows.
#[derive(Debug)]
pub struct RowStore {
    folder: PathBuf,
    columns: Vec<(String, Holds)>,
    schema: TypePtr,
    rows: Vec<Map<String, Value>>,
    /// Number of the next file.
    number: u32,
    lost: u64,
}

/// Maximum number of rows that may wait for a disk with space: about 100 MB.
const MOST_WAITING: usize = 1 << 18;

impl RowStore {
    /// Opens a folder for rows with these columns and creates it if necessary. Existing files are
    /// kept.
    ///
    /// # Errors
    /// A one-line message if the folder cannot be made or read.
    pub fn open(folder: &Path, columns: Vec<(String, Holds)>) -> Result<RowStore, Error> {
        let failed = |error| Error::new(format!("{}: {error}", folder.display()));
        fs::create_dir_all(folder).map_err(failed)?;
        let known = parts(folder).map_err(failed)?;
        let last = known.iter().filter_map(|file| {
            let name = file.file_stem()?.to_str()?;
            name.parse::<u32>().ok()
        });
        let number = last.max().map_or(1, |last| last.saturating_add(1));
        let schema = schema(&columns).map_err(|error| broken(folder, &error))?;
        Ok(RowStore {
            folder: folder.to_owned(),
            columns,
            schema,
            rows: Vec::new(),
            number,
            lost: 0,
        })
    }

    /// Keeps a row for the next file. Extra fields are left out; missing ones are null. If no file
    /// can be written for long, rows beyond the limit are lost.
    pub fn add(&mut self, row: Map<String, Value>) {
        if self.rows.len() < MOST_WAITING {
            self.rows.push(row);
        } else {
            self.lost += 1;
        }
    }

    /// Rows that were lost.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Rows that are not in a file yet.
    pub fn waiting(&self) -> usize {
        self.rows.len()
    }

    /// Writes the waiting rows as one file; does nothing if there are none.
    ///
    /// # Errors
    /// A one-line message if the file cannot be written. The rows are kept for another attempt.
    pub fn flush(&mut self) -> Result<(), Error> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let file = self.folder.join(format!("{:06}.{ENDING}", self.number));
        let failed = |error| Error::new(format!("{}: {error}", file.display()));
        let mut out = Whole::open(&file, For::Anybody).map_err(failed)?;
        self.write(&mut out).map_err(|error| broken(&file, &error))?;
        out.finish().map_err(failed)?;
        self.number += 1;
        self.rows.clear();
        Ok(())
    }

    fn write(&self, out: &mut Whole) -> Result<(), ParquetError> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(format!("firstflight {}", env!("CARGO_PKG_VERSION")))
            .build();
        let mut file =
            SerializedFileWriter::new(out, Arc::clone(&self.schema), Arc::new(properties))?;
        let mut group = file.next_row_group()?;
        let mut names = self.columns.iter();
        while let (Some(mut column), Some((name, _))) = (group.next_column()?, names.next()) {
            self.column(column.untyped(), name)?;
            column.close()?;
        }
        group.close()?;
        file.close()?.file_metadata();
        Ok(())
    }

    fn column(&self, writer: &mut ColumnWriter<'_>, name: &str) -> Result<(), ParquetError> {
        let cells = || self.rows.iter().map(|row| row.get(name));
        match writer {
            ColumnWriter::ByteArrayColumnWriter(writer) => {
                let (levels, values) = split(cells(), |cell| cell.as_str().map(ByteArray::from));
                writer.write_batch(&values, Some(&levels), None)?;
            }
            ColumnWriter::Int64ColumnWriter(writer) => {
                let (levels, values) = split(cells(), |cell| cell.as_u64().map(u64::cast_signed));
                writer.write_batch(&values, Some(&levels), None)?;
            }
            ColumnWriter::DoubleColumnWriter(writer) => {
                let (levels, values) = split(cells(), Value::as_f64);
                writer.write_batch(&values, Some(&levels), None)?;
            }
            ColumnWriter::BoolColumnWriter(writer) => {
                let (levels, values) = split(cells(), Value::as_bool);
                writer.write_batch(&values, Some(&levels), None)?;
            }
            _ => return Err(ParquetError::General("a column of a kind that no row has".into())),
        }
        Ok(())
    }
}

/// All cells of any Parquet file: its rows with all columns.
///
/// # Errors
/// A one-line message: not a Parquet file, or one with a type that rows do not have.
pub fn every_row(file: &Path) -> Result<Vec<Map<String, Value>>, Error> {
    let failed = |error: std::io::Error| Error::new(format!("{}: {error}", file.display()));
    let reader = SerializedFileReader::new(File::open(file).map_err(failed)?);
    let reader = reader.map_err(|error| broken(file, &error))?;
    let mut rows = Vec::new();
    for row in reader.get_row_iter(None).map_err(|error| broken(file, &error))? {
        let row = row.map_err(|error| broken(file, &error))?;
        let cell = |(name, field): (&String, &Field)| {
            let value = match field {
                Field::Null => Value::Null,
                Field::Bool(flag) => (*flag).into(),
                Field::Str(text) => text.as_str().into(),
                Field::Int(number) => (*number).into(),
                Field::UInt(number) => (*number).into(),
                Field::Long(number) => (*number).into(),
                Field::ULong(number) => (*number).into(),
                Field::Double(number) => (*number).into(),
                other => {
                    let told = format!("{}: `{name}` holds {other}", file.display());
                    return Err(Error::new(told));
                }
            };
            Ok((name.clone(), value))
        };
        rows.push(row.get_column_iter().map(cell).collect::<Result<_, Error>>()?);
    }
    Ok(rows)
}

/// Flags for the cells that have a value, and these values.
fn split<'a, T>(
    cells: impl Iterator<Item = Option<&'a Value>>,
    read: impl Fn(&Value) -> Option<T>,
) -> (Vec<i16>, Vec<T>) {
    let read: Vec<Option<T>> = cells.map(|cell| cell.and_then(&read)).collect();
    let levels = read.iter().map(|cell| i16::from(cell.is_some())).collect();
    (levels, read.into_iter().flatten().collect())
}

fn broken(file: &Path, error: &ParquetError) -> Error {
    Error::new(format!("{}: {error}", file.display()))
}

fn schema(columns: &[(String, Holds)]) -> Result<TypePtr, ParquetError> {
    let field = |(name, holds): &(String, Holds)| {
        let (physical, converted) = match holds {
            Holds::Text => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
            Holds::Whole => (Physical::INT64, ConvertedType::UINT_64),
            Holds::Real => (Physical::DOUBLE, ConvertedType::NONE),
            Holds::Flag => (Physical::BOOLEAN, ConvertedType::NONE),
        };
        Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_converted_type(converted)
            .build()
            .map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder("rows").with_fields(fields).build().map(Arc::new)
}

/// The files of a folder, in the order in which they were written.
///
/// # Errors
/// Errors of the file system.
pub(super) fn parts(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let file = entry?.path();
        if file.extension().is_some_and(|ending| ending == ENDING) {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}
