// Package evidence keeps docs/reliability.md: which tests hold each promise of docs/guarantees.md, how much
// of them runs, when the long runs of .ci/long passed last, and which defects were ever found, with what
// holds each of them. The page is generated from the table in promises_test.go, from defects.txt and from
// runs.txt:
//
//	go test ./internal/test/evidence -update
//
// Its tests also keep the other pages true: links lead somewhere, and the tests and pages that are named are
// there.
package evidence
