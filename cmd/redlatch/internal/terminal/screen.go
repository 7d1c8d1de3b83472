package terminal

import (
	"context"
	"io"
	"os"
	"strings"
)

// A Screen is drawn over and over on a terminal, and leaves what was there before as it was.
type Screen struct {
	out     *Output
	restore func()
}

// Open begins to draw on the output, which is live. The context that it returns ends when q is typed at in, if that is a terminal.
func Open(ctx context.Context, out *Output, in io.Reader) (*Screen, context.Context) {
	ctx, quit := context.WithCancel(ctx)
	s := &Screen{out: out, restore: quit}
	if file, ok := in.(*os.File); ok && isTerminal(file) {
		restore := unbuffered(file)
		s.restore = func() { quit(); restore() }
		go awaitQ(file, quit)
	}
	io.WriteString(out, "\x1b[?1049h\x1b[?25l") // another screen, no cursor
	return s, ctx
}

// awaitQ reads until the program ends: a read of a terminal cannot be given up.
func awaitQ(in io.Reader, quit func()) {
	key := make([]byte, 1)
	for {
		n, err := in.Read(key)
		switch {
		case n == 1 && (key[0] == 'q' || key[0] == 'Q'):
			quit()
			return
		case err != nil:
			return
		}
	}
}

// Draw shows the lines, of which those that do not fit are left out.
func (s *Screen) Draw(lines []string) {
	if h := s.out.Height; h > 0 && len(lines) > h {
		lines = lines[:h]
	}
	// Without wrapping, for a line that wraps pushes the others down. All in one write, so that no half frame is seen.
	io.WriteString(s.out, "\x1b[?7l\x1b[H"+strings.Join(lines, "\x1b[K\r\n")+"\x1b[K\x1b[J\x1b[?7h")
}

// Close brings back what was there.
func (s *Screen) Close() {
	io.WriteString(s.out, "\x1b[?25h\x1b[?1049l")
	s.restore()
}
