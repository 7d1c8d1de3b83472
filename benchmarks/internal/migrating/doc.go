// Package migrating is the code of docs/migrating.md, so that the page shows what compiles and runs: for each of the
// other libraries what a program does with it, and the same with redlatch. A test compares the page with these files.
package migrating
