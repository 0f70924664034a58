//! Large digits, three rows high.

/// Five rows of three bits per character: the pixels of a digit.
fn pixels(letter: char) -> Option<[u8; 5]> {
    Some(match letter {
        '0' => [0b111, 0b101, 0b101, 0b101, 0b111],
        '1' => [0b010, 0b110, 0b010, 0b010, 0b111],
        '2' => [0b111, 0b001, 0b111, 0b100, 0b111],
        '3' => [0b111, 0b001, 0b111, 0b001, 0b111],
        '4' => [0b101, 0b101, 0b111, 0b001, 0b001],
        '5' => [0b111, 0b100, 0b111, 0b001, 0b111],
        '6' => [0b111, 0b100, 0b111, 0b101, 0b111],
        '7' => [0b111, 0b001, 0b001, 0b001, 0b001],
        '8' => [0b111, 0b101, 0b111, 0b101, 0b111],
        '9' => [0b111, 0b101, 0b111, 0b001, 0b111],
        '-' => [0b000, 0b000, 0b111, 0b000, 0b000],
        _ => return None,
    })
}

/// Three lines that show a number in large digits; `None` where it contains an unsupported
/// character.
#[must_use]
pub fn large_digits(number: &str) -> Option<[String; 3]> {
    let mut lines = [const { String::new() }; 3];
    for letter in number.chars() {
        if !lines[0].is_empty() {
            lines.iter_mut().for_each(|line| line.push(' '));
        }
        if letter == '.' {
            let [top, middle, bottom] = &mut lines;
            top.push(' ');
            middle.push(' ');
            bottom.push('▀');
            continue;
        }
        let rows = pixels(letter)?;
        for (line, text) in lines.iter_mut().enumerate() {
            let upper = rows[line * 2];
            let lower = rows.get(line * 2 + 1).copied().unwrap_or(0);
            text.extend(
                (0..3)
                    .rev()
                    .map(|bit| half_block(upper >> bit, lower >> bit)),
            );
        }
    }
    Some(lines)
}

fn half_block(upper: u8, lower: u8) -> char {
    match (upper & 1, lower & 1) {
        (1, 1) => '█',
        (1, _) => '▀',
        (_, 1) => '▄',
        _ => ' ',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_number_has_three_rows_of_equal_width() {
        let lines = large_digits("83.9").unwrap();
        assert_eq!(lines, ["█▀█ ▀▀█   █▀█", "█▀█ ▀▀█   ▀▀█", "▀▀▀ ▀▀▀ ▀ ▀▀▀"]);
        assert_eq!(large_digits("n/a"), None);
    }
}
