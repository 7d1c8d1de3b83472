//go:build lockorder

// Command lockorder tells of rows of the table in internal/lockorder that no test takes any more. It reads what the processes
// of a run have written to the file that REDLATCH_LOCKORDER named, and ends with status 1 if there are such rows:
//
//	REDLATCH_LOCKORDER=/tmp/seen go test -count=1 -tags lockorder ./...
//	go run -tags lockorder ./.ci/lockorder /tmp/seen
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/redlatch/redlatch/internal/lockorder"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: lockorder FILE")
		os.Exit(2)
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		seen[strings.TrimSpace(line)] = true
	}
	rows := lockorder.Unseen(seen)
	for _, row := range rows {
		fmt.Printf("no test takes these two locks any more; take the row out of internal/lockorder/table.go, or find out why: %s\n", row)
	}
	fmt.Printf("%d pairs of locks were seen\n", len(seen))
	if len(rows) > 0 {
		os.Exit(1)
	}
}
