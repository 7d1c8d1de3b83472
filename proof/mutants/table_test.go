package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A change of the library leaves a mutant behind whose text is gone, and it would be noticed when its turn comes.
func TestEachMutantsTextOccursOnce(t *testing.T) {
	for _, m := range mutants {
		for _, e := range m.edits {
			text, err := os.ReadFile(filepath.Join("../..", e.file))
			if err != nil {
				t.Errorf("%s: %v", m.name, err)
				continue
			}
			if n := strings.Count(string(text), e.old); n != 1 {
				t.Errorf("%s: its text occurs %d times in %s, and should once", m.name, n, e.file)
			}
		}
	}
}
