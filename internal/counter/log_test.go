package counter_test

import (
	"bytes"
	"sync"
)

// A text is what a logger has written, which the background may go on writing.
type text struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (t *text) Write(line []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buffer.Write(line)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buffer.String()
}
