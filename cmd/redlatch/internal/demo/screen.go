package demo

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/views"
)

// A Screen shows a demo to a person: on a terminal with a line that is drawn over and over, elsewhere with plain
// lines only.
type Screen struct {
	out    io.Writer
	live   bool // a terminal that understands escape sequences
	symbol bool // and UTF-8
	drawn  bool // the live line stands on the last line
	config *Config
	told   time.Duration // when the last plain progress line was written
}

// NewScreen looks at what out is.
func NewScreen(out io.Writer) *Screen {
	s := &Screen{out: out}
	file, ok := out.(*os.File)
	if !ok {
		return s
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return s
	}
	term := os.Getenv("TERM")
	s.live = term != "" && term != "dumb"
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} { // the first that is set decides
		if value := strings.ToUpper(os.Getenv(name)); value != "" {
			s.symbol = s.live && (strings.Contains(value, "UTF-8") || strings.Contains(value, "UTF8"))
			break
		}
	}
	return s
}

// Begin is the heading.
func (s *Screen) Begin(c *Config, server string) {
	s.config = c
	fmt.Fprintf(s.out, "\n  %s  %s share %s\n", s.paint(bold, "redlatch demo"), count(c.Workers, "worker"), count(c.Jobs, "job"))
	fmt.Fprintf(s.out, "  One at a time takes a job, under a lock; %d at a time run one, in a semaphore.\n", c.Permits)
	fmt.Fprintf(s.out, "  Server: %s\n\n", server)
}

// Tell adds a line that stays.
func (s *Screen) Tell(at time.Duration, text string) {
	s.erase()
	fmt.Fprintf(s.out, "  %s  %s\n", s.paint(faint, fmt.Sprintf("%6.2f s", at.Seconds())), text)
}

const (
	barWidth      = 24
	plainInterval = 2 * time.Second // between progress lines where none can be overwritten
)

// Progress draws the live line again.
func (s *Screen) Progress(st Status) {
	if !s.live {
		if st.At-s.told >= plainInterval && st.Done < s.config.Jobs {
			s.told = st.At
			s.Tell(st.At, fmt.Sprintf("%d of %d jobs done", st.Done, s.config.Jobs))
		}
		return
	}
	filled := min(barWidth, barWidth*st.Done/s.config.Jobs)
	full, empty := "#", "."
	if s.symbol {
		full, empty = "━", "─"
	}
	bar := s.paint(green, strings.Repeat(full, filled)) + s.paint(faint, strings.Repeat(empty, barWidth-filled))
	lock := "free"
	switch {
	case st.Dead:
		lock = s.paint(red, fmt.Sprintf("dead worker %d", st.Holder))
	case st.Holder != 0:
		lock = fmt.Sprintf("worker %d", st.Holder)
	}
	line := fmt.Sprintf("  %6.2f s  %s %d/%d done, %d running, lock: %s", st.At.Seconds(), bar, st.Done, s.config.Jobs,
		st.Inside, lock)
	// Without wrapping, for a line that wraps in a narrow terminal cannot be drawn over.
	fmt.Fprintf(s.out, "\r\x1b[?7l%s\x1b[K\x1b[?7h", line)
	s.drawn = true
}

// Close leaves the terminal as it was.
func (s *Screen) Close() { s.erase() }

func (s *Screen) erase() {
	if s.drawn {
		io.WriteString(s.out, "\r\x1b[K")
		s.drawn = false
	}
}

// screenWidth is for the table of what ls saw, which stands behind an indent.
const screenWidth = 100

// Result is the table of what was verified.
func (s *Screen) Result(r *Result) {
	s.erase()
	fmt.Fprintf(s.out, "\n  %s\n\n", s.paint(bold, "Verified from the journal that the workers kept in Redis"))
	width := 0
	for _, check := range r.Checks {
		width = max(width, utf8.RuneCountInString(check.Name))
	}
	for _, check := range r.Checks {
		fmt.Fprintf(s.out, "  %s %-*s  %s\n", s.mark(check.OK, r.Interrupted), width, check.Name, check.Detail)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(s.out, "\n%s", wrap(note, "  ", 76))
	}
	if r.Saw != nil && len(r.Saw.Objects) > 0 {
		fmt.Fprintf(s.out, "\n  %s\n\n", s.paint(bold, "What \"redlatch ls\" saw "+r.Saw.When))
		for _, line := range views.Table(r.Saw.Objects, &terminal.Output{Width: screenWidth}) {
			fmt.Fprintf(s.out, "  %s\n", line)
		}
	}
	fmt.Fprintln(s.out)
	switch {
	case r.Interrupted:
		fmt.Fprintf(s.out, "  %s after %.1f s; the workers are stopped.\n", s.paint(bold, "Interrupted"), r.Seconds)
	case r.OK:
		fmt.Fprintf(s.out, "  %s in %.1f s.\n", s.paint(bold+green, "All of it holds"), r.Seconds)
	default:
		reasons := r.beside()
		if len(reasons) == 0 { // the checks that failed stand above
			fmt.Fprintf(s.out, "  %s\n", s.paint(bold+red, "It does not hold."))
			break
		}
		fmt.Fprintf(s.out, "  %s\n", s.paint(bold+red, "It does not hold:"))
		for _, reason := range reasons {
			fmt.Fprintf(s.out, "%s", wrap(reason, "    ", 76))
		}
	}
	fmt.Fprintln(s.out)
}

// mark is the sign in front of a check. What was not verified because the run was interrupted has failed nothing.
func (s *Screen) mark(ok, interrupted bool) string {
	yes, no, open := "ok    ", "FAILED", "-     "
	if s.symbol {
		yes, no, open = "✓", "✗", "·"
	}
	switch {
	case ok:
		return s.paint(green, yes)
	case interrupted:
		return s.paint(faint, open)
	default:
		return s.paint(bold+red, no)
	}
}

const (
	bold  = "1;"
	faint = "2;"
	red   = "31;"
	green = "32;"
)

// paint sets attributes on a terminal, unless NO_COLOR asks for none.
func (s *Screen) paint(attributes, text string) string {
	if !s.live || text == "" || os.Getenv("NO_COLOR") != "" {
		return text
	}
	return "\x1b[" + strings.TrimSuffix(attributes, ";") + "m" + text + "\x1b[0m"
}

// wrap breaks text into lines of at most width, each with the indent in front.
func wrap(text, indent string, width int) string {
	var b strings.Builder
	line := indent
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > width && line != indent {
			b.WriteString(line + "\n")
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	b.WriteString(line + "\n")
	return b.String()
}
