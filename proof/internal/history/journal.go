package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// A Journal is the file of one process. Its records reach the kernel one by one, so that a process that is killed has
// left all of them.
type Journal struct {
	mu   sync.Mutex
	file *os.File
}

// Open makes the journal of a client in a folder. One that exists is an error: a history has no second beginning.
func Open(folder, client string) (*Journal, error) {
	file, err := os.OpenFile(filepath.Join(folder, client+".jsonl"), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	return &Journal{file: file}, nil
}

// Write puts a record down. When it returns without an error the record outlives the process.
func (j *Journal) Write(r Record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_, err = j.file.Write(append(line, '\n'))
	return err
}

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }

// Read reads all journals of a folder. A last line without an end is left out: its process was killed while it wrote,
// and has not acted on it.
func Read(folder string) (records []Record, err error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no journals", folder)
	}
	for _, name := range names {
		more, err := readFile(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		records = append(records, more...)
	}
	return records, nil
}

func readFile(name string) (records []Record, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF):
			return records, nil
		case err != nil:
			return nil, err
		}
		var r Record
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(records)+1, err)
		}
		records = append(records, r)
	}
}
