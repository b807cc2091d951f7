//! A Gaussian copula: correlations between variables, whatever their distributions.

use super::variable::Variable;

/// Correlations of the normal variables behind the drawn ones, as written, and the triangle that
/// produces them.
#[derive(Clone, Debug, PartialEq)]
pub struct Correlation {
    pairs: Vec<(Variable, Variable, f64)>,
    /// Lower triangle in the order of [`Correlation::ORDER`].
    factor: [[f64; 4]; 4],
}

impl Default for Correlation {
    /// All variables independent.
    fn default() -> Correlation {
        let factor = std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
        Correlation { pairs: Vec::new(), factor }
    }
}

impl Correlation {
    /// The variables that can be correlated, in the order of the triangle.
    pub const ORDER: [Variable; 4] =
        [Variable::Rtt, Variable::RateDown, Variable::Buffer, Variable::Size];

    /// A copula with these pairs.
    ///
    /// # Errors
    /// A variable that cannot be correlated, a repeated pair, or contradictory correlations.
    pub fn new(pairs: Vec<(Variable, Variable, f64)>) -> Result<Correlation, String> {
        let mut matrix = [[0.0; 4]; 4];
        for (i, row) in matrix.iter_mut().enumerate() {
            row[i] = 1.0;
        }
        for &(a, b, rho) in &pairs {
            let place = |variable: Variable| {
                Correlation::ORDER.iter().position(|known| *known == variable).ok_or_else(|| {
                    format!(
                        "{} cannot be correlated; allowed: rtt, rate_down, buffer, size",
                        variable.name()
                    )
                })
            };
            let (i, j) = (place(a)?, place(b)?);
            if i == j || matrix[i][j] != 0.0 {
                return Err(format!(
                    "{} and {} are given twice; allowed: each pair once",
                    a.name(),
                    b.name()
                ));
            }
            if !(-1.0..=1.0).contains(&rho) {
                return Err(format!("{rho} is out of range; allowed: -1 to 1"));
            }
            (matrix[i][j], matrix[j][i]) = (rho, rho);
        }
        let factor = cholesky(&matrix).ok_or(
            "the pairs contradict each other; allowed: correlations that can hold together",
        )?;
        Ok(Correlation { pairs, factor })
    }

    /// The rho of a pair whose rank (Spearman) correlation is `r`.
    pub fn of_rank(r: f64) -> f64 {
        2.0 * libm::sin(std::f64::consts::PI * r / 6.0)
    }

    /// The pairs as written.
    pub fn pairs(&self) -> &[(Variable, Variable, f64)] {
        &self.pairs
    }

    /// Whether this variable is correlated with any other in [`Correlation::ORDER`].
    pub fn ties(&self, variable: Variable) -> bool {
        self.pairs.iter().any(|&(a, b, rho)| rho != 0.0 && (a == variable || b == variable))
    }

    /// Turns independent normal numbers into correlated ones, both in the order of
    /// [`Correlation::ORDER`].
    pub fn apply(&self, independent: [f64; 4]) -> [f64; 4] {
        self.factor.map(|row| {
            row.iter()
                .zip(independent)
                .filter(|(factor, _)| **factor != 0.0)
                .map(|(factor, z)| factor * z)
                .sum()
        })
    }
}

/// The lower triangle L with L L^T = `matrix`; `None` if there is none.
fn cholesky(matrix: &[[f64; 4]; 4]) -> Option<[[f64; 4]; 4]> {
    let mut lower = [[0.0; 4]; 4];
    for i in 0..4 {
        for j in 0..=i {
            let rest: f64 = matrix[i][j] - (0..j).map(|k| lower[i][k] * lower[j][k]).sum::<f64>();
            if i == j {
                if rest < 0.0 {
                    return None;
                }
                lower[i][i] = libm::sqrt(rest);
            } else if lower[j][j] > 0.0 {
                lower[i][j] = rest / lower[j][j];
            } else if rest.abs() > 1e-12 {
                return None;
            }
        }
    }
    Some(lower)
}
