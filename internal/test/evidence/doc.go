// Package evidence keeps the pages true: their links lead somewhere, and the tests that they name are in the tree.
package evidence
