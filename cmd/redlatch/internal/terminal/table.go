package terminal

import (
	"slices"
	"strings"
)

// A Table is rows of cells below headings.
type Table struct {
	Columns []Column
	Rows    [][]Cell
}

// A Column is its heading and how it can be made narrower.
type Column struct {
	Heading string
	Right   bool // numbers
	Shrinks Shrinking
}

// Shrinking is what happens to the texts of a column where the terminal is too narrow.
type Shrinking int

// The ways of shrinking.
const (
	Never       Shrinking = iota
	InLines               // a text is broken into lines, so that nothing of it is lost
	InTheMiddle           // of a name the middle is left out
)

// A Cell is one text in its style. The text must be harmless, as Quote and Clean make it.
type Cell struct {
	Text  string
	Style Style
}

// Row adds a row.
func (t *Table) Row(cells ...Cell) { t.Rows = append(t.Rows, cells) }

const (
	padded  = 60 // where lines may have any length, no column makes room for more; a longer text moves what is behind it
	between = "  "
)

// What shrinks keeps so many cells, if that is enough for the terminal; a word of so many is not broken then. On a narrower one it keeps
// fewer.
var least = []int{20, 13, 10, 6, 1}

// Lines are the lines of the table. If they do not fit, the widest column that can is made narrower.
func (t *Table) Lines(o *Output) []string {
	widths := make([]int, len(t.Columns))
	words := make([]int, len(t.Columns)) // the longest of each column
	for i, c := range t.Columns {
		texts := []string{c.Heading}
		for _, row := range t.Rows {
			if i < len(row) {
				texts = append(texts, row[i].Text)
			}
		}
		for _, text := range texts {
			widths[i] = max(widths[i], cells(text))
			for _, word := range wordsOf(text) {
				words[i] = max(words[i], cells(word))
			}
		}
	}
	if o.Width > 0 {
		t.fit(widths, words, o.Width)
	} else {
		for i := range widths {
			widths[i] = min(widths[i], padded)
		}
	}
	head := make([]Cell, len(t.Columns))
	for i, c := range t.Columns {
		head[i] = Cell{c.Heading, Bold}
	}
	lines := t.row(o, widths, head)
	for _, row := range t.Rows {
		lines = append(lines, t.row(o, widths, row)...)
	}
	return lines
}

// fit makes columns narrower until the lines fit.
func (t *Table) fit(widths, words []int, width int) {
	for _, keep := range least {
		for {
			total, widest := -len(between), -1
			for i, w := range widths {
				total += w + len(between)
				low := keep
				if t.Columns[i].Shrinks == InLines {
					low = min(words[i], keep)
				}
				if t.Columns[i].Shrinks != Never && w > low && (widest < 0 || w > widths[widest]) {
					widest = i
				}
			}
			if total <= width {
				return
			}
			if widest < 0 {
				break
			}
			widths[widest]--
		}
	}
}

// row is a row in as many lines as its cells need.
func (t *Table) row(o *Output, widths []int, row []Cell) (lines []string) {
	if o.Width == 0 {
		return []string{t.line(o, widths, row)}
	}
	texts := make([][]string, len(row))
	count := 1
	for i, cell := range row {
		switch t.Columns[i].Shrinks {
		case InLines:
			texts[i] = broken(cell.Text, widths[i])
		case InTheMiddle:
			texts[i] = []string{squeeze(cell.Text, widths[i])}
		default:
			texts[i] = []string{cell.Text}
		}
		count = max(count, len(texts[i]))
	}
	for n := range count {
		part := make([]Cell, len(row))
		for i, cell := range row {
			if n < len(texts[i]) {
				part[i] = Cell{texts[i][n], cell.Style}
			}
		}
		lines = append(lines, t.line(o, widths, part))
	}
	return lines
}

// broken is a text in lines of so many cells, broken at blanks and, where a word is longer than a line, in the word.
func broken(text string, width int) (lines []string) {
	line := ""
	for _, word := range wordsOf(text) {
		if line != "" && cells(line)+1+cells(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
		for cells(line) > width {
			head := prefix(line, max(width, 1))
			if head == "" { // a character of two cells in a column of one
				return append(lines, "…")
			}
			lines, line = append(lines, head), line[len(head):]
		}
	}
	return append(lines, line)
}

// wordsOf are the words of a text. A number and its unit are one: "12 min".
func wordsOf(text string) (words []string) {
	for _, word := range strings.Fields(text) {
		last := len(words) - 1
		if last >= 0 && len(word) <= len("min") && strings.Trim(words[last], "0123456789.") == "" {
			words[last] += " " + word
			continue
		}
		words = append(words, word)
	}
	return words
}

func (t *Table) line(o *Output, widths []int, row []Cell) string {
	var b strings.Builder
	last := len(row) - 1
	for last > 0 && row[last].Text == "" {
		last--
	}
	room := o.Width
	for i, cell := range row[:last+1] {
		text := cell.Text
		if o.Width > 0 {
			text = Cut(text, max(room, 1)) // which takes something only where the terminal is narrower than its columns can be
		}
		spaces := widths[i] - cells(text)
		if o.Width > 0 {
			spaces = min(spaces, room-cells(text))
		}
		pad := strings.Repeat(" ", max(0, spaces))
		room -= cells(text) + len(pad) + len(between)
		painted := o.Paint(cell.Style, text)
		if t.Columns[i].Right {
			painted, pad = pad+painted, ""
		}
		b.WriteString(painted)
		if i == last || o.Width > 0 && room <= 0 {
			break
		}
		b.WriteString(pad + between)
	}
	return b.String()
}

// Wrap breaks a text into lines that fit behind an indent; the first line has its own.
func Wrap(o *Output, first, indent, text string) []string {
	width := o.Width
	if width == 0 {
		return []string{first + text}
	}
	lines := []string{first}
	for i, word := range strings.Fields(text) {
		last := &lines[len(lines)-1]
		switch {
		case i == 0:
			*last += word
		case cells(*last)+1+cells(word) > width:
			lines = append(lines, indent+word)
		default:
			*last += " " + word
		}
	}
	return slices.Clip(lines)
}
