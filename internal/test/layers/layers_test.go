package layers_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

const longFile = 400 // lines

var (
	drawers = []string{"util", "utils", "common", "types", "helper", "helpers"}
	why     = regexp.MustCompile(`(?is)\blong\b.*\bbecause\b|\b400 lines\b`)
)

// A source is one parsed file.
type source struct {
	name  string // path in the module
	test  bool
	file  *ast.File
	lines int
}

// read parses all Go files below root by folder. Folders with a go.mod of their own are other modules.
func read(root fs.FS) (map[string][]source, error) {
	packages := map[string][]source{}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			base := path.Base(name)
			_, other := fs.Stat(root, path.Join(name, "go.mod"))
			if name != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || other == nil) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly|parser.ParseComments)
		if err == nil && strings.Count(string(text), "\n") > longFile { // the reason may stand anywhere
			file, err = parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		}
		if err != nil {
			return err
		}
		packages[path.Dir(name)] = append(packages[path.Dir(name)], source{
			name: name, test: strings.HasSuffix(name, "_test.go"), file: file, lines: strings.Count(string(text), "\n"),
		})
		return nil
	})
	return packages, err
}

// judge returns a sentence for everything that is not as it should be.
func judge(packages map[string][]source) (complaints []string) {
	complain := func(format string, args ...any) { complaints = append(complaints, fmt.Sprintf(format, args...)) }
	for folder, sources := range packages {
		may, known := rowOf(folder)
		if !known {
			complain("package %s has no row in internal/test/layers/table_test.go: decide which layer it belongs to and what it may import", folder)
		}
		if slices.Contains(drawers, path.Base(folder)) || slices.Contains(drawers, sources[0].file.Name.Name) {
			complain("package %s is named after nothing it does: name it for its one idea", folder)
		}
		documented, onlyTests := false, true
		for _, s := range sources {
			documented = documented || !s.test && s.file.Doc != nil
			onlyTests = onlyTests && s.test
			if s.lines > longFile && !explained(s.file) {
				complain("%s has %d lines and does not say why: split it, or add a comment that it is long because ...", s.name, s.lines)
			}
			if !s.test && known {
				for _, spec := range s.file.Imports {
					imported, _ := strconv.Unquote(spec.Path.Value)
					if reason := refuse(folder, may, imported); reason != "" {
						complain("%s imports %s: %s", s.name, imported, reason)
					}
				}
			}
		}
		if !documented && !onlyTests {
			complain("package %s has no package comment: say what it is for, above the package clause of one file", folder)
		}
	}
	slices.Sort(complaints)
	return complaints
}

// rowOf finds what folder may import.
func rowOf(folder string) (may []string, known bool) {
	if may, known = table[folder]; known {
		return may, true
	}
	for row, may := range table {
		if below, ok := strings.CutSuffix(row, "..."); ok && strings.HasPrefix(folder, below) {
			return append(slices.Clone(may), row), true
		}
	}
	return nil, false
}

// refuse says why a package must not import another, or nothing.
func refuse(folder string, may []string, imported string) string {
	testSupport := slices.Contains(support, folder)
	if imported == module || strings.HasPrefix(imported, module+"/") {
		target := strings.TrimPrefix(strings.TrimPrefix(imported, module), "/")
		if target == "" {
			target = "."
		}
		allowed := slices.ContainsFunc(may, func(row string) bool {
			below, wild := strings.CutSuffix(row, "...")
			return row == target || wild && strings.HasPrefix(target, below)
		})
		switch {
		case allowed:
			return ""
		case slices.Contains(support, target):
			return "that is test support, for _test.go files only"
		case slices.Contains(primitives, folder) && slices.Contains(primitives, target):
			return "primitives do not import one another; what two of them share moves down"
		default:
			return "its row in internal/test/layers/table_test.go does not allow it; imports go downward only"
		}
	}
	if strings.HasPrefix(imported, redisClient) && slices.Contains(leaves, folder) {
		return "leaves and engines know nothing of Redis, so that they can be tested on fake time"
	}
	if (folder == demo || folder == embedded || folder == kit) && strings.HasPrefix(imported, miniredis) {
		return ""
	}
	if folder == "internal/clock" && imported == "golang.org/x/sys/unix" {
		return "" // macOS tells how long it slept by libSystem alone, which nothing else reaches without cgo
	}
	if strings.HasPrefix(folder, "cmd/") && slices.Contains(commandModules, imported) {
		return ""
	}
	if !testSupport && slices.ContainsFunc(testModules, func(m string) bool { return strings.HasPrefix(imported, m) }) {
		return "that is for tests only"
	}
	host, _, _ := strings.Cut(imported, "/")
	if !testSupport && strings.Contains(host, ".") &&
		!slices.ContainsFunc(codeModules, func(m string) bool { return strings.HasPrefix(imported, m) }) {
		return "a new dependency needs a very good reason: every program that uses the library gets it too"
	}
	return ""
}

func explained(file *ast.File) bool {
	return slices.ContainsFunc(file.Comments, func(c *ast.CommentGroup) bool { return why.MatchString(c.Text()) })
}

func TestImportsGoDownward(t *testing.T) {
	packages, err := read(os.DirFS(moduleRoot(t)))
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) < 20 || packages["."] == nil {
		t.Fatalf("found only %d packages; the search started in the wrong place", len(packages))
	}
	for _, complaint := range judge(packages) {
		t.Error(complaint)
	}
}

// A newcomer opens the root first. Tests of the whole module are in internal/test/suite.
func TestTheRootHasFewTestFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(moduleRoot(t), "*_test.go"))
	if err != nil || len(files) == 0 || len(files) > 8 {
		t.Errorf("%d test files in the root, at most 8: move what needs several primitives to internal/test/suite (%v)", len(files), err)
	}
}

func moduleRoot(t *testing.T) string {
	dir, err := filepath.Abs(".")
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	t.Fatal("no go.mod above the test; run it inside the module")
	return ""
}

func TestRowsNameOnlyRowsAndAllowNoCycle(t *testing.T) {
	for folder := range table {
		may, _ := rowOf(folder)
		for _, target := range may {
			if _, known := table[target]; !known {
				t.Errorf("the row of %s allows %s, which has no row", folder, target)
			}
			if back, _ := rowOf(target); slices.Contains(back, folder) && !strings.HasSuffix(folder, "...") {
				t.Errorf("%s and %s may import each other", folder, target)
			}
		}
	}
}

// The judge is judged by modules of one package each.
func TestEachRuleIsEnforced(t *testing.T) {
	imports := func(of string) string { return "// Package x is for a test.\npackage x\nimport _ \"" + of + "\"\n" }
	long := strings.Repeat("\n", longFile+1)
	for name, test := range map[string]struct{ file, text, want string }{
		"a new package":              {"internal/novel/x.go", imports("fmt"), "has no row"},
		"upward":                     {"internal/session/x.go", imports(module), "imports go downward only"},
		"the front to the edge":      {"x.go", imports(module + "/internal/dispatch"), "imports go downward only"},
		"primitive to primitive":     {"rlock/x.go", imports(module + "/semaphore"), "primitives do not import one another"},
		"scripts to scripts":         {"internal/scripts/rwlock/x.go", imports(module + "/internal/scripts/rlock"), "does not allow it"},
		"test support":               {"rlock/x.go", imports(module + "/internal/test/redistest"), "_test.go files only"},
		"an example beneath":         {"examples/cron/x.go", imports(module + "/internal/keys"), "does not allow it"},
		"Redis in an engine":         {"internal/cohort/x.go", imports(redisClient + "v9"), "know nothing of Redis"},
		"a new dependency":           {"rlock/x.go", imports("github.com/google/uuid"), "very good reason"},
		"a test library":             {"rlock/x.go", imports("github.com/stretchr/testify/require"), "for tests only"},
		"no comment":                 {"rlock/x.go", "package x\n", "no package comment"},
		"a comment in a test":        {"rlock/x_test.go", "// Package x is.\npackage x\n", ""},
		"the demo's server":          {"cmd/redlatch/internal/demo/x.go", imports(miniredis + "v2"), ""},
		"the command's flags":        {"cmd/redlatch/x.go", imports("github.com/alecthomas/kong"), ""},
		"the command's elsewhere":    {"rlock/x.go", imports("github.com/alecthomas/kong"), "very good reason"},
		"the kit's server":           {"redlatchtest/x.go", imports(miniredis + "v2"), ""},
		"a test library in the kit":  {"redlatchtest/x.go", imports("github.com/stretchr/testify/require"), "for tests only"},
		"the kit in a lock":          {"rlock/x.go", imports(module + "/redlatchtest"), "its row"},
		"miniredis in a lock":        {"rlock/x.go", imports(miniredis + "v2"), "for tests only"},
		"a drawer":                   {"cmd/util/x.go", "// Package util is.\npackage util\n", "named after nothing"},
		"a long file":                {"rlock/x.go", imports("fmt") + long, "does not say why"},
		"a long file that says why":  {"rlock/x.go", imports("fmt") + long + "// This file is long because of a table.\n", ""},
		"another module":             {"benchmarks/x.go", "package x\n", ""},
		"a command's own package":    {"cmd/redlatch/x.go", imports(module + "/cmd/redlatch/internal/top"), ""},
		"a primitive on its base":    {"rlock/x.go", imports(module + "/internal/baselock"), ""},
		"test support in a test":     {"rlock/x_test.go", imports(module + "/internal/test/redistest"), ""},
		"a test library for support": {"internal/test/locktest/x.go", imports("github.com/stretchr/testify/require"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			packages, err := read(fstest.MapFS{
				"go.mod": {}, "benchmarks/go.mod": {}, "testdata/x.go": {Data: []byte("nonsense")}, test.file: {Data: []byte(test.text)},
			})
			if err != nil {
				t.Fatal(err)
			}
			complaints := judge(packages)
			switch {
			case test.want == "" && len(complaints) > 0:
				t.Errorf("complained: %q", complaints)
			case test.want != "" && (len(complaints) != 1 || !strings.Contains(complaints[0], test.want)):
				t.Errorf("complaints are %q, want one with %q", complaints, test.want)
			}
		})
	}
}
