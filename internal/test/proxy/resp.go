package proxy

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
)

// A frame is one complete RESP value as it came off the wire.
type frame struct {
	raw  []byte
	kind byte     // its first byte: '+', '*', '>' and so on
	strs []string // of an array or a push: those of its elements that are strings
	n    int      // of an array or a push: how many elements it has
}

// readFrame reads one value. An error leaves the reader in the middle of one.
func readFrame(r *bufio.Reader) (frame, error) {
	var f frame
	err := f.read(r, 0)
	if err == io.EOF && len(f.raw) > 0 {
		err = io.ErrUnexpectedEOF
	}
	return f, err
}

// read appends one value to raw; depth is 0 for the frame itself and 1 for its elements.
func (f *frame) read(r *bufio.Reader, depth int) error {
	line, err := r.ReadBytes('\n')
	f.raw = append(f.raw, line...)
	if err != nil {
		return err
	}
	if len(line) < 3 {
		return fmt.Errorf("not RESP: %q", line)
	}
	kind, text := line[0], string(line[1:len(line)-2])
	if depth == 0 {
		f.kind = kind
	}
	switch kind {
	case '+', '-', ':', '_', '#', ',', '(':
		f.note(depth, kind, text)
		return nil
	case '$', '=', '!':
		return f.readBulk(r, depth, kind, text)
	case '*', '~', '>', '%', '|':
		return f.readElements(r, depth, kind, text)
	}
	return fmt.Errorf("not RESP: %q", line)
}

func (f *frame) readBulk(r *bufio.Reader, depth int, kind byte, length string) error {
	n, err := strconv.Atoi(length)
	if err != nil {
		return fmt.Errorf("length of a bulk string: %w", err)
	}
	if n < 0 {
		return nil // RESP2's nil
	}
	start := len(f.raw)
	f.raw = append(f.raw, make([]byte, n+2)...)
	if _, err := io.ReadFull(r, f.raw[start:]); err != nil {
		return err
	}
	f.note(depth, kind, string(f.raw[start:start+n]))
	return nil
}

func (f *frame) readElements(r *bufio.Reader, depth int, kind byte, length string) error {
	n, err := strconv.Atoi(length)
	if err != nil {
		return fmt.Errorf("length of an aggregate: %w", err)
	}
	if depth == 0 {
		f.n = n
	}
	switch kind {
	case '%':
		n *= 2
	case '|':
		n = 2*n + 1 // attributes belong to the value behind them
	}
	for range n { // none for RESP2's nil array, -1
		if err := f.read(r, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// note keeps the strings of a frame: they are all of a request, and they tell pub/sub messages from replies.
func (f *frame) note(depth int, kind byte, text string) {
	if depth == 1 && (kind == '$' || kind == '+') {
		f.strs = append(f.strs, text)
	}
}
