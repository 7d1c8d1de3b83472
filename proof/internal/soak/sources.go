package soak

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// apart are the folders that are no part of the library.
var apart = []string{".git", ".ci", "docs", "proof", "benchmarks", "interop", "examples", "testdata"}

// sources is the commit of the tree above a folder, and a hash of its files that the library is built from.
func sources() (commit, hash string, err error) {
	root, err := os.Getwd()
	if err != nil {
		return "", "", err
	}
	for !exists(filepath.Join(root, "redlatch.go")) {
		if root == filepath.Dir(root) {
			return "", "", fmt.Errorf("soak: the sources of the library are not above this folder")
		}
		root = filepath.Dir(root)
	}
	if out, err := exec.Command("git", "-C", root, "rev-parse", "HEAD").Output(); err == nil { // an archive has none
		commit = strings.TrimSpace(string(out))
	}
	sum := sha256.New()
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(apart, name):
			return fs.SkipDir
		case d.IsDir(), strings.HasSuffix(name, "_test.go"), !slices.Contains([]string{".go", ".lua", ".mod"}, filepath.Ext(name)):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		_, _ = fmt.Fprintf(sum, "%s %d\n%s", filepath.ToSlash(relative), len(text), text)
		return err
	})
	return commit, hex.EncodeToString(sum.Sum(nil)), err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
