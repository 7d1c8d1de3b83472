// Package modules_test takes the module as a user gets it: from a proxy, as a tagged version, in an empty directory.
package modules_test

import (
	"archive/zip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/test/redistest"
)

const (
	module  = "github.com/redlatch/redlatch"
	version = "v0.999.0"
)

// mostLinked is how many other modules a program has to link that imports rlock: go-redis and its two, the two of golang.org/x, and
// the back-off.
const mostLinked = 6

// A user is somebody with nothing but Go and a proxy.
type user struct {
	dir string
	env []string
}

func TestAUserGetsTheModuleFromAProxy(t *testing.T) {
	redistest.Long(t) // it builds everything anew
	proxy := serve(t)
	modules := filepath.Join(t.TempDir(), "modules") // which the users share, so that each package is compiled once
	newUser := func(t *testing.T) *user {
		return &user{dir: t.TempDir(), env: append(os.Environ(), "GOPROXY="+proxy, "GOMODCACHE="+modules,
			"GOFLAGS=-modcacherw -trimpath", "GOWORK=off", "GOSUMDB=off")}
	}

	t.Run("go run of the README", func(t *testing.T) {
		out := newUser(t).goes(t, "run", module+"/cmd/redlatch@latest", "demo")
		require.Contains(t, out, "All of it holds")
	})
	t.Run("go install", func(t *testing.T) {
		u := newUser(t)
		bin := t.TempDir()
		u.env = append(u.env, "GOBIN="+bin)
		u.goes(t, "install", module+"/cmd/redlatch@latest")
		help, err := exec.Command(filepath.Join(bin, "redlatch"), "--help").CombinedOutput()
		require.NoError(t, err, "%s", help)
		require.Contains(t, string(help), "demo")
		of, err := exec.Command(filepath.Join(bin, "redlatch"), "--version").CombinedOutput()
		require.NoError(t, err)
		require.Contains(t, string(of), version)
	})
	t.Run("a program that imports rlock", func(t *testing.T) {
		u := newUser(t)
		u.goes(t, "mod", "init", "example.com/billing")
		require.NoError(t, os.WriteFile(filepath.Join(u.dir, "main.go"), []byte(program), 0o600))
		u.goes(t, "get", module, "github.com/redis/go-redis/v9") // of the README
		u.goes(t, "mod", "tidy")
		u.goes(t, "build", ".")

		linked := map[string]bool{}
		for path := range strings.FieldsSeq(u.goes(t, "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")) {
			linked[path] = true
		}
		delete(linked, module)
		delete(linked, "example.com/billing")
		require.LessOrEqual(t, len(linked), mostLinked, "%v", linked)
		require.Contains(t, linked, "github.com/redis/go-redis/v9")
	})
}

const program = `package main

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
	"github.com/redlatch/redlatch/rlock"
)

func main() {
	rdb := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	fmt.Println(rlock.New(rdb, "orders:42").Do(context.Background(), func(context.Context) error { return nil }))
}
`

// serve makes a proxy of files that has this tree as the one version of the module, and returns it with what the module needs.
func serve(t *testing.T) (proxies string) {
	t.Helper()
	root := strings.TrimSpace(output(t, exec.Command("git", "rev-parse", "--show-toplevel")))
	dir := filepath.Join(t.TempDir(), filepath.FromSlash(module), "@v")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	require.NotContains(t, string(mod), "replace", "go run ...@latest refuses such a module")
	for name, content := range map[string]string{
		"list": version + "\n", version + ".info": `{"Version":"` + version + `","Time":"2026-01-01T00:00:00Z"}`, version + ".mod": string(mod),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	pack(t, root, filepath.Join(dir, version+".zip"))
	cache := strings.TrimSpace(output(t, exec.Command("go", "env", "GOMODCACHE")))
	return url(strings.TrimSuffix(dir, filepath.FromSlash("/"+module+"/@v"))) + "," + url(filepath.Join(cache, "cache", "download")) + "," +
		strings.TrimSpace(output(t, exec.Command("go", "env", "GOPROXY")))
}

func url(path string) string { return "file://" + filepath.ToSlash(path) }

// pack writes the files of the root module, as they are in this tree, the way that a proxy has them.
func pack(t *testing.T, root, to string) {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	files := strings.Split(strings.TrimSuffix(output(t, list), "\x00"), "\x00")
	var others []string // modules of their own
	for _, f := range files {
		if dir, ok := strings.CutSuffix(f, "/go.mod"); ok {
			others = append(others, dir+"/")
		}
	}
	require.NotEmpty(t, others)
	out, err := os.Create(to)
	require.NoError(t, err)
	z := zip.NewWriter(out)
	for _, f := range files {
		in, err := os.Open(filepath.Join(root, f))
		if within(f, others) || os.IsNotExist(err) { // deleted, and not yet committed
			continue
		}
		require.NoError(t, err)
		w, err := z.Create(module + "@" + version + "/" + f)
		require.NoError(t, err)
		_, err = io.Copy(w, in)
		require.NoError(t, err)
		require.NoError(t, in.Close())
	}
	require.NoError(t, z.Close())
	require.NoError(t, out.Close())
}

func within(file string, folders []string) bool {
	for _, f := range folders {
		if strings.HasPrefix(file, f) {
			return true
		}
	}
	return false
}

// goes runs the go command in the user's directory, and returns what it printed.
func (u *user) goes(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = u.dir, u.env
	return output(t, cmd)
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%v: %s%s", cmd.Args, out, stderr.String())
	return string(out)
}
