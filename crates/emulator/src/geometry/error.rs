//! Why a description of caches is refused.

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GeometryError {
    #[error(
        "{0:?} is neither one of l1d= l1i= l2= l3= (or ll=) dtlb= stlb= memory= modified= walk= \
         blocked= nor one of the known machines: {known}",
        known = super::preset_names()
    )]
    Unknown(String),
    #[error(
        "{item:?}: {what}; write {level}=off or {level}=SIZE,WAYS as in {level}={example}",
        example = example(level)
    )]
    Form { item: String, what: String, level: &'static str },
    #[error("{item:?}: write a number of cycles from 1 to {most}, as in l2=1m,8:14 or memory=250")]
    Cycles { item: String, most: u64 },
    #[error("{item:?}: {what}")]
    Size { item: String, what: String },
}

fn example(level: &str) -> &'static str {
    match level {
        "dtlb" => "64,4",
        "stlb" => "1536,12",
        "l2" => "1m,8",
        "l3" => "32m,16",
        _ => "32k,8",
    }
}
