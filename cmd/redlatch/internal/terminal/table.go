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
	Never Shrinking = iota
	AtTheEnd
	InTheMiddle
)

// A Cell is one text in its style. The text must be harmless, as Quote and Clean make it.
type Cell struct {
	Text  string
	Style Style
}

// Row adds a row.
func (t *Table) Row(cells ...Cell) { t.Rows = append(t.Rows, cells) }

const (
	narrowest = 10 // what shrinks keeps so many cells
	padded    = 60 // where lines may have any length, no column makes room for more; a longer text moves what is behind it
	between   = "  "
)

// Lines are the lines of the table. If they do not fit the widest column that can is made narrower.
func (t *Table) Lines(o *Output) []string {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = cells(c.Heading)
		for _, row := range t.Rows {
			if i < len(row) {
				widths[i] = max(widths[i], cells(row[i].Text))
			}
		}
	}
	if o.Width > 0 {
		t.fit(widths, o.Width)
	} else {
		for i := range widths {
			widths[i] = min(widths[i], padded)
		}
	}
	head := make([]Cell, len(t.Columns))
	for i, c := range t.Columns {
		head[i] = Cell{c.Heading, Bold}
	}
	lines := []string{t.line(o, widths, head)}
	for _, row := range t.Rows {
		lines = append(lines, t.line(o, widths, row))
	}
	return lines
}

func (t *Table) fit(widths []int, width int) {
	for {
		total, widest := -len(between), -1
		for i, w := range widths {
			total += w + len(between)
			if t.Columns[i].Shrinks != Never && w > narrowest && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if total <= width || widest < 0 {
			return
		}
		widths[widest]--
	}
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
			switch t.Columns[i].Shrinks {
			case AtTheEnd:
				text = Cut(text, widths[i])
			case InTheMiddle:
				text = squeeze(text, widths[i])
			}
			text = Cut(text, max(room, 1))
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
