/* A diagnosis for people and programs. */
#pragma once
#include "diagnosis/balance.h"
#include "diagnosis/what-if.h"
#include "output/output.h"

/** pipesim_diagnosis_text: what to do first, the causes, the worst first, and the largest single losses: one screen,
 * unless @style is full.
 * @what_if, @balance: (nullable)
 * @notices: (nullable): of char * */
void pipesim_diagnosis_text(const PipesimDiagnosis *diagnosis, const PipesimWhatIf *what_if,
	const PipesimBalance *balance, const GPtrArray *notices, const PipesimStyle *style,
	GString *out);
/** pipesim_diagnosis_members: every figure. @what_if, @balance: (nullable); where @json asks for names
 * alone, all are NULL. */
void pipesim_diagnosis_members(PipesimJson *json, const PipesimDiagnosis *diagnosis,
	const PipesimWhatIf *what_if, const PipesimBalance *balance);
/** pipesim_diagnosis_csv: a line for the step and one for each rank, a column for each cause. */
void pipesim_diagnosis_csv(const PipesimDiagnosis *diagnosis, GString *out);
