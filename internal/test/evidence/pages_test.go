package evidence

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	anchor  = regexp.MustCompile(`<a id="([^"]+)">`)
	named   = regexp.MustCompile(`\b(?:Test|Benchmark)[A-Z][A-Za-z0-9]{9,}\b`)
	code    = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	unsaid  = regexp.MustCompile("[^a-z0-9 _-]")
)

// anchors are what a link to the page can name behind its #.
func anchors(page string) (all []string) {
	for _, h := range heading.FindAllStringSubmatch(page, -1) {
		all = append(all, strings.ReplaceAll(unsaid.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-"))
	}
	for _, a := range anchor.FindAllStringSubmatch(page, -1) {
		all = append(all, a[1])
	}
	return all
}

func TestTheLinksOfThePagesLeadSomewhere(t *testing.T) {
	require.NoError(t, walk(".md", func(page string) error {
		for _, found := range link.FindAllStringSubmatch(code.ReplaceAllString(read(t, page), "`"), -1) {
			to, at, _ := strings.Cut(found[1], "#")
			if strings.Contains(to, ":") {
				continue // it is elsewhere
			}
			target := page
			if to != "" {
				target = path.Join(path.Dir(page), to)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s, which is not there", page, found[1])
			} else if at != "" && path.Ext(target) == ".md" {
				if !slices.Contains(anchors(read(t, target)), at) {
					t.Errorf("%s links to %s, which is no heading there", page, found[1])
				}
			}
		}
		return nil
	}))
}

// What is said to be a page of this repository is one, wherever it is said.
func TestThePagesThatTheCodeNamesAreThere(t *testing.T) {
	pages := regexp.MustCompile(`\bdocs/[a-z/-]+\.md\b`)
	for _, ext := range []string{".go", ".md"} {
		require.NoError(t, walk(ext, func(name string) error {
			for _, page := range pages.FindAllString(read(t, name), -1) {
				if _, err := os.Stat(filepath.Join(root, page)); err != nil {
					t.Errorf("%s names %s, which is not there", name, page)
				}
			}
			return nil
		}))
	}
}

func TestTheTestsThatThePagesNameAreThere(t *testing.T) {
	all, err := tests()
	require.NoError(t, err)
	require.NoError(t, walk(".md", func(page string) error {
		for line := range strings.Lines(read(t, page)) {
			for _, test := range named.FindAllString(line, -1) {
				is := func(name string) bool { return name == test }
				if before, _, _ := strings.Cut(line, test); strings.Contains(before, "-run ") { // a pattern
					is = func(name string) bool { return strings.HasPrefix(name, test) }
				}
				if !slices.ContainsFunc(slices.Collect(maps.Keys(all)), is) {
					t.Errorf("%s names %s, which is no test", page, test)
				}
			}
		}
		return nil
	}))
}
