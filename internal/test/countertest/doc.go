// Package countertest is the suite of what semaphore, permitsemaphore and countdownlatch promise alike: those who wait for a
// number, and those who change it. A package of a counter calls Exercise with an adapter, and tests only what it has of its own.
package countertest
