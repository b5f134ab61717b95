//! Damaged inputs: known good ones, cut, joined, repeated and sprinkled with what has broken parsers
//! before. The same seed gives the same inputs.

/// Pieces that have broken parsers before.
const NASTY: &[&[u8]] = &[
    b"\0",
    b"\r\n",
    b"\r",
    b"\n\n",
    b"\t",
    b"\x1b[31m",
    b"\x1b]8;;http://x\x07",
    b"\x1b]0;",
    b"\x1bP",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xc3",
    b"\xed\xa0\x80",
    "\u{200d}".as_bytes(),
    "\u{202e}".as_bytes(),
    "e\u{301}\u{301}\u{301}".as_bytes(),
    "👩‍👩‍👧".as_bytes(),
    "한글".as_bytes(),
    "\u{85}\u{9b}31m".as_bytes(),
    "\u{feff}".as_bytes(),
    b"\\u0000",
    b"\\ud800",
    b"18446744073709551616",
    b"-1",
    b"1e999",
    b"null",
    b"[[[[[[[[",
    b"{\"a\":",
    b"}}",
    b"\"",
    b"'",
    b"`",
    b"```",
    b"$(",
    b"<<EOF\n",
    b"&&",
    b"| |",
    b"#",
    b"- ",
    b"> ",
    b"data: ",
    b"event: ",
    b"[DONE]",
];

/// Longest input.
const LONGEST: usize = 8_192;

/// Makes inputs.
pub struct Mutator {
    state: u64,
    corpus: Vec<Vec<u8>>,
}

impl Mutator {
    pub fn new(seed: u64, corpus: &[&[u8]]) -> Self {
        Self { state: seed | 1, corpus: corpus.iter().map(|input| input.to_vec()).collect() }
    }

    /// A number below `limit` (xorshift).
    fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state >> 11).unwrap_or(0) % limit.max(1)
    }

    fn place(&mut self, input: &[u8]) -> usize {
        self.below(input.len() + 1)
    }

    /// The next input.
    pub fn next(&mut self) -> Vec<u8> {
        let at = self.below(self.corpus.len());
        let mut input = self.corpus[at].clone();
        for _ in 0..=self.below(6) {
            self.damage(&mut input);
        }
        input.truncate(LONGEST);
        // What is odd enough to be kept breeds more; the corpus stays small.
        if self.below(50) == 0 && self.corpus.len() < 200 {
            self.corpus.push(input.clone());
        }
        input
    }

    fn damage(&mut self, input: &mut Vec<u8>) {
        let (from, to) = {
            let (one, other) = (self.place(input), self.place(input));
            (one.min(other), one.max(other))
        };
        match self.below(8) {
            0 => {
                input.drain(from..to);
            }
            1 => {
                let piece = input[from..to].to_vec();
                let at = self.place(input);
                input.splice(at..at, piece);
            }
            2 => {
                let piece = input[from..to.min(from + 40)].repeat(1 + self.below(60));
                input.splice(from..from, piece);
            }
            3 => {
                let other = self.below(self.corpus.len());
                let other = self.corpus[other].clone();
                let cut = self.place(&other);
                input.truncate(from);
                input.extend(&other[cut..]);
            }
            4 => {
                if let Some(byte) = input.get_mut(from) {
                    *byte ^= 1 << (from % 8);
                }
            }
            5 => input.truncate(from),
            _ => {
                let nasty = NASTY[self.below(NASTY.len())];
                input.splice(from..from, nasty.iter().copied());
            }
        }
    }
}
