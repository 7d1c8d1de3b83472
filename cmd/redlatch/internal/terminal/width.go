package terminal

import (
	"slices"
	"strings"
)

// wide are the ranges of characters that take two cells.
var wide = [][2]rune{
	{0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xa960, 0xa97c}, {0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe30, 0xfe6f}, {0xff00, 0xff60},
	{0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd},
}

// cells is how much room a text takes that Quote or Clean has made.
func cells(text string) (n int) {
	for _, r := range text {
		n += cellsOf(r)
	}
	return n
}

func cellsOf(r rune) int {
	if slices.ContainsFunc(wide, func(w [2]rune) bool { return w[0] <= r && r <= w[1] }) {
		return 2
	}
	return 1
}

// Cut shortens a text to so many cells, from its end.
func Cut(text string, most int) string {
	if cells(text) <= most {
		return text
	}
	return prefix(text, most-1) + "…"
}

// squeeze shortens a name to so many cells in its middle: what tells names apart is more often at their ends.
func squeeze(text string, most int) string {
	if cells(text) <= most {
		return text
	}
	head := (most - 1) / 2
	tail := []rune(text)
	slices.Reverse(tail)
	tail = []rune(prefix(string(tail), most-1-head))
	slices.Reverse(tail)
	return prefix(text, head) + "…" + string(tail)
}

func prefix(text string, most int) string {
	var b strings.Builder
	for _, r := range text {
		if most -= cellsOf(r); most < 0 {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}
