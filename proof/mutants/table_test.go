package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A change of the library leaves a mutant behind whose text is gone, and it would be noticed when its turn comes.
func TestEachMutantCanBePutInPlace(t *testing.T) {
	t.Chdir("..") // where the command is run
	for _, m := range mutants {
		if _, err := put(m, t.TempDir()); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

// A test that was renamed would neither fail nor pass.
func TestTheUnitTestsThatJudgeExist(t *testing.T) {
	for _, m := range mutants {
		if m.checks != nil {
			continue
		}
		files, err := filepath.Glob(filepath.Join("..", "..", m.test.folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(text), "\nfunc "+m.test.name+"(t *testing.T)")
		}
		if !found {
			t.Errorf("%s: there is no test %s in %s", m.name, m.test.name, m.test.folder)
		}
	}
}
