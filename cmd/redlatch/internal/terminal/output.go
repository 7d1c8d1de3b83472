package terminal

import (
	"io"
	"os"
	"strconv"
)

// An Output is where a command writes, and what that can do.
type Output struct {
	io.Writer
	Live   bool // a terminal that understands escape sequences
	Color  bool // and is to have colours
	Width  int  // in cells; 0: lines may have any length
	Height int  // in lines; 0: there may be any number

	file *os.File
}

// Is tells whether w is a terminal, so that a person sees what is written.
func Is(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && isTerminal(file)
}

// To looks at what w is. Whatever is no terminal gets plain lines of any length.
func To(w io.Writer) *Output {
	o := &Output{Writer: w}
	if !Is(w) {
		return o
	}
	term := os.Getenv("TERM")
	o.Live = term != "" && term != "dumb"
	o.Color = o.Live && os.Getenv("NO_COLOR") == ""
	o.file = w.(*os.File)
	o.Measure()
	return o
}

// Measure asks the terminal for its size, which may have changed.
func (o *Output) Measure() {
	if o.file == nil {
		return
	}
	o.Width, o.Height = size(o.file)
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 && o.Width == 0 {
		o.Width = columns
	}
	if o.Width == 0 {
		o.Width = 80
	}
}

// A Style is how a text looks where there are colours.
type Style string

// The styles.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Faint  Style = "2"
	Red    Style = "1;31"
	Yellow Style = "33"
)

// Paint gives a text its style, where there are colours.
func (o *Output) Paint(style Style, text string) string {
	if !o.Color || style == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}
