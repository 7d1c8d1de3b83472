package main

import "testing"

// A change of the library leaves a mutant behind whose text is gone, and it would be noticed when its turn comes.
func TestEachMutantCanBePutInPlace(t *testing.T) {
	t.Chdir("..") // where the command is run
	for _, m := range mutants {
		if _, err := put(m, t.TempDir()); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}
