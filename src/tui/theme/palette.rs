//! The colours of each theme.

use ratatui::style::Color;

/// A theme, as the user names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThemeName {
    /// For a dark background, unless the environment states a light one.
    Auto,
    /// For a dark background.
    Dark,
    /// For a light background.
    Light,
    /// The 16 colours as the terminal defines them, for a palette that the user chose.
    Sixteen,
    /// Without pairs that differ in red and green only.
    ColourBlind,
    /// Without colours.
    Plain,
}

impl ThemeName {
    /// Every theme.
    pub const ALL: [Self; 6] = [
        Self::Auto,
        Self::Dark,
        Self::Light,
        Self::Sixteen,
        Self::ColourBlind,
        Self::Plain,
    ];

    /// Its name in options and in the configuration.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Dark => "dark",
            Self::Light => "light",
            Self::Sixteen => "16-colours",
            Self::ColourBlind => "colour-blind",
            Self::Plain => "plain",
        }
    }
}

/// Background of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// Dark.
    Dark,
    /// Light.
    Light,
}

impl Background {
    /// The background by the variable `COLORFGBG`, such as `15;0`: the last number is that of the
    /// colour. Dark where it states none.
    #[must_use]
    pub fn from_colorfgbg(value: &str) -> Self {
        let number = value.rsplit(';').next().and_then(|it| it.parse().ok());
        match number {
            Some(7 | 9..=15) => Self::Light,
            _ => Self::Dark,
        }
    }
}

/// Number of colours of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColourDepth {
    /// The 16 colours that the terminal defines.
    Sixteen,
    /// The 256 colours of xterm, which are the same everywhere.
    Many,
}

/// Colours by role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Palette {
    /// Reads.
    pub read: Color,
    /// Writes.
    pub write: Color,
    /// A warning, or waiting.
    pub warning: Color,
    /// An error.
    pub error: Color,
    /// Success.
    pub success: Color,
}

impl Palette {
    /// The terminal's own colours: their shades suit its background.
    pub const BASIC: Self = Self {
        read: Color::Cyan,
        write: Color::Magenta,
        warning: Color::Yellow,
        error: Color::Red,
        success: Color::Green,
    };
    /// Cyan and yellow are hardly readable on white in most terminals.
    const BASIC_LIGHT: Self = Self {
        read: Color::Blue,
        write: Color::Magenta,
        warning: Color::Black,
        error: Color::Red,
        success: Color::Green,
    };
    const DARK: Self = Self::indexed([80, 176, 221, 203, 114]);
    const LIGHT: Self = Self::indexed([25, 127, 130, 160, 28]);
    const COLOUR_BLIND_BASIC: Self = Self {
        read: Color::Blue,
        write: Color::Yellow,
        warning: Color::Magenta,
        error: Color::Red,
        success: Color::Cyan,
    };
    const COLOUR_BLIND_DARK: Self = Self::indexed([75, 214, 227, 203, 79]);
    const COLOUR_BLIND_LIGHT: Self = Self::indexed([20, 129, 97, 160, 23]);

    const fn indexed([read, write, warning, error, success]: [u8; 5]) -> Self {
        Self {
            read: Color::Indexed(read),
            write: Color::Indexed(write),
            warning: Color::Indexed(warning),
            error: Color::Indexed(error),
            success: Color::Indexed(success),
        }
    }

    /// The colours of a theme on a terminal. The theme that the user names decides about the
    /// background.
    #[must_use]
    pub fn select(theme: ThemeName, depth: ColourDepth, background: Background) -> Self {
        use Background::{Dark, Light};
        use ColourDepth::{Many, Sixteen};
        let depth = match theme {
            ThemeName::Sixteen => Sixteen,
            _ => depth,
        };
        let background = match theme {
            ThemeName::Dark => Dark,
            ThemeName::Light => Light,
            _ => background,
        };
        match (theme, depth, background) {
            (ThemeName::ColourBlind, Many, Dark) => Self::COLOUR_BLIND_DARK,
            (ThemeName::ColourBlind, Many, Light) => Self::COLOUR_BLIND_LIGHT,
            (ThemeName::ColourBlind, ..) => Self::COLOUR_BLIND_BASIC,
            (_, Many, Dark) => Self::DARK,
            (_, Many, Light) => Self::LIGHT,
            (_, Sixteen, Light) => Self::BASIC_LIGHT,
            (_, Sixteen, Dark) => Self::BASIC,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linear red, green and blue of a colour of xterm's cube.
    fn linear(colour: Color) -> [f64; 3] {
        let Color::Indexed(index) = colour else {
            panic!("{colour:?} depends on the terminal");
        };
        let place = usize::from(index) - 16;
        [place / 36, place / 6 % 6, place % 6].map(|level| {
            let value = [0.0, 95.0, 135.0, 175.0, 215.0, 255.0][level] / 255.0;
            match value <= 0.04045 {
                true => value / 12.92,
                false => ((value + 0.055_f64) / 1.055).powf(2.4),
            }
        })
    }

    /// Contrast as WCAG 2 defines it.
    fn contrast(colour: Color, background: f64) -> f64 {
        let [red, green, blue] = linear(colour);
        let luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
        (luminance.max(background) + 0.05) / (luminance.min(background) + 0.05)
    }

    fn colours(palette: Palette) -> [Color; 5] {
        let Palette {
            read,
            write,
            warning,
            error,
            success,
        } = palette;
        [read, write, warning, error, success]
    }

    #[test]
    fn indexed_colours_are_readable_on_their_background() {
        for theme in [ThemeName::Auto, ThemeName::ColourBlind] {
            for (background, luminance) in [(Background::Dark, 0.0), (Background::Light, 1.0)] {
                let palette = Palette::select(theme, ColourDepth::Many, background);
                for colour in colours(palette) {
                    assert!(contrast(colour, luminance) >= 4.5, "{theme:?} {colour:?}");
                }
            }
        }
    }

    /// Machado, Oliveira and Fernandes 2009, severity 1: deuteranopia and protanopia.
    const SIMULATIONS: [[[f64; 3]; 3]; 2] = [
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
    ];

    #[test]
    fn reads_writes_warnings_and_errors_differ_for_colour_blind_people() {
        for background in [Background::Dark, Background::Light] {
            let many = ColourDepth::Many;
            let palette = Palette::select(ThemeName::ColourBlind, many, background);
            let [read, write, warning, error, _] = colours(palette);
            let pairs = [
                (read, write),
                (read, warning),
                (read, error),
                (write, warning),
                (write, error),
                (warning, error),
            ];
            for (simulation, (left, right)) in SIMULATIONS
                .iter()
                .flat_map(|it| pairs.map(|pair| (it, pair)))
            {
                let seen = |colour| {
                    let source = linear(colour);
                    simulation.map(|row| (0..3).map(|i| row[i] * source[i]).sum::<f64>())
                };
                let (left_seen, right_seen) = (seen(left), seen(right));
                let squares = (0..3).map(|i| (left_seen[i] - right_seen[i]).powi(2));
                let distance = squares.sum::<f64>().sqrt();
                assert!(distance >= 0.2, "{left:?} {right:?}: {distance}");
            }
        }
    }

    #[test]
    fn named_theme_decides_about_the_background() {
        let many = ColourDepth::Many;
        let light = Palette::select(ThemeName::Light, many, Background::Dark);
        assert_eq!(light, Palette::LIGHT);
        let sixteen = Palette::select(ThemeName::Light, ColourDepth::Sixteen, Background::Dark);
        assert_eq!(sixteen, Palette::BASIC_LIGHT);
    }

    #[test]
    fn colorfgbg_names_the_background_last() {
        for (value, expected) in [
            ("15;0", Background::Dark),
            ("0;default;15", Background::Light),
            ("0;7", Background::Light),
            ("default", Background::Dark),
            ("", Background::Dark),
        ] {
            assert_eq!(Background::from_colorfgbg(value), expected, "{value}");
        }
    }
}
