/* A diagnosis for people and programs. */
#pragma once
#include "analysis/diagnosis.h"
#include "analysis/what-if.h"
#include "output/output.h"

/** pipesim_diagnosis_text: what a ticket needs, worst cause first. @what_if: (nullable) */
void pipesim_diagnosis_text(const PipesimDiagnosis *diagnosis, const PipesimWhatIf *what_if,
	const PipesimStyle *style, GString *out);
/** pipesim_diagnosis_json: every figure; keys are in docs/diagnose.md. @what_if: (nullable) */
void pipesim_diagnosis_json(
	const PipesimDiagnosis *diagnosis, const PipesimWhatIf *what_if, GString *out);
/** pipesim_diagnosis_csv: a line for the step and one for each rank, a column for each cause. */
void pipesim_diagnosis_csv(const PipesimDiagnosis *diagnosis, GString *out);
