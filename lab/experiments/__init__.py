"""The papers' tables and figures as experiments on a given model."""
